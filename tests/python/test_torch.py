"""gpreempt.torch with a PyTorch that has no GPU: nothing happens, and nothing breaks; and with one
that says it has, as far as that can be tried here."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import subprocess
import sys
from typing import Any, List

import pytest
from conftest import SOURCE, Daemon, Program, Victim

import gpreempt

if importlib.util.find_spec("torch") is None:
    pytest.skip("no PyTorch (apt: python3-torch)", allow_module_level=True)

import torch  # noqa: E402


def test_it_is_not_imported_before_it_is_used() -> None:
    statement = "import sys, gpreempt.torch; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", statement], check=True)


def model() -> Any:
    torch.manual_seed(1)
    return torch.nn.Linear(4, 2)


def test_a_wrapped_model_is_the_model() -> None:
    bare, x = model(), torch.ones(3, 4)
    wrapped = gpreempt.torch.wrap(bare)
    assert torch.equal(wrapped(x), bare(x))
    assert wrapped.eval() is wrapped and not bare.training
    assert wrapped.state_dict().keys() == bare.state_dict().keys()
    wrapped.training = True
    assert bare.training
    for again in (copy.deepcopy(wrapped), pickle.loads(pickle.dumps(wrapped))):
        assert torch.equal(again(x), bare(x))
    assert gpreempt.torch.wrap(bare, cls="offline") is bare
    assert gpreempt.torch.wrap(bare.forward)(x).shape == (3, 2)
    with pytest.raises(ValueError, match="online or offline"):
        gpreempt.torch.wrap(bare, cls="urgent")


def test_without_a_gpu_there_is_no_stream_and_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    for cls in ("online", "offline"):
        with gpreempt.torch.stream(cls) as stream:
            assert stream is None
    assert list(gpreempt.torch.train([1, 2, 3], tag="t")) == [1, 2, 3]
    assert not [each for each in recwarn if each.category is gpreempt.GpreemptWarning]


class Data(torch.utils.data.Dataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> int:
        with gpreempt.online():  # in a worker: one of its own, or none
            return index


@pytest.mark.filterwarnings("ignore::gpreempt.GpreemptWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_data_loader(method: str) -> None:
    loader = torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2,
                                         multiprocessing_context=method)
    with gpreempt.online():
        batches: List[Any] = list(gpreempt.torch.train(loader))
    assert torch.cat(batches).tolist() == list(range(12))


def test_with_a_gpu_a_call_is_online_work_and_training_is_offline(
        daemon: Daemon, victim: Victim, program: Program) -> None:
    """has_gpu() is told to say yes; the process has a queue, though not PyTorch's."""
    program.do("""
import torch
gpreempt.torch.has_gpu = lambda: True
def model(x):
    return (x + 1, gpreempt.status().job_of(os.getpid()).busy)
wrapped = gpreempt.torch.wrap(model, synchronize=False, required=True)
""".strip())
    assert program.do("wrapped(torch.tensor(1).item())") == [2, True]
    assert daemon.comes_to(victim.pid, "running")
    assert program.do("list(gpreempt.torch.train([1, 2], tag='loop', required=True))") == [1, 2]
    job = daemon.job_of(program.pid)
    assert job is not None and job.cls == "offline"


EXAMPLES = SOURCE / "examples/python"


@pytest.mark.parametrize("words", [
    ["torch_server.py", "--model", "bert", "--requests", "3"],
    ["torch_server.py", "--model", "resnet", "--requests", "3", "--batch", "2"],
    ["torch_trainer.py", "--model", "bert", "--epochs", "1", "--batch", "4"],
    ["torch_trainer.py", "--model", "resnet", "--epochs", "1", "--priority", "low"]])
def test_the_examples_run_on_a_cpu(words: List[str]) -> None:
    call = [sys.executable, str(EXAMPLES / words[0]), "--cpu", "--small", *words[1:]]
    ended = subprocess.run(call, check=False, text=True, capture_output=True)
    assert ended.returncode == 0, ended.stderr
    assert "Warning" not in ended.stderr
    assert '"model"' in ended.stdout
