"""Two small networks, BERT-like and ResNet-like, and the training of a third, each twice: on the
GPU by HIP, and in NumPy. Both do the same sums and products in the same order, so the results are
equal bit by bit: whoever interrupts the GPU must not change one.

Only what rounds the same everywhere is used: sums, products, quotients, comparisons. So attention
has (1 + x / 256)^256 in place of exp, and normalisation divides by the mean magnitude.
"""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy
from hip import Hip

f32 = numpy.float32
Array = numpy.ndarray

KERNELS = r"""
// c[row][column] = sum over k of a[row][k] * b[k][column], then bias and relu; a may be transposed.
extern "C" __global__ void matmul(const float* a, const float* b, const float* bias, float* c,
                                  int rows, int inner, int columns, int transpose_a,
                                  int transpose_b, int relu) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * columns) return;
  int row = i / columns, column = i % columns;
  float sum = 0.0f;
  for (int k = 0; k < inner; k++) {
    float x = transpose_a ? a[k * rows + row] : a[row * inner + k];
    float y = transpose_b ? b[column * inner + k] : b[k * columns + column];
    sum = sum + x * y;
  }
  if (bias) sum = sum + bias[column];
  c[i] = relu && !(sum > 0.0f) ? 0.0f : sum;
}

// Each row: weights (1 + (x - largest) / 256)^256, divided by their sum.
extern "C" __global__ void attend(float* scores, int rows, int columns, float scale) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float* x = scores + row * columns;
  float largest = x[0] * scale;
  for (int i = 0; i < columns; i++) {
    x[i] = x[i] * scale;
    if (x[i] > largest) largest = x[i];
  }
  float sum = 0.0f;
  for (int i = 0; i < columns; i++) {
    float y = 1.0f + (x[i] - largest) * 0.00390625f;
    if (!(y > 0.0f)) y = 0.0f;
    for (int n = 0; n < 8; n++) y = y * y;
    x[i] = y;
    sum = sum + y;
  }
  for (int i = 0; i < columns; i++) x[i] = x[i] / sum;
}

// Each row: x = x + y, less its mean, divided by its mean magnitude.
extern "C" __global__ void add_and_normalise(float* x, const float* y, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float* a = x + row * columns;
  const float* b = y + row * columns;
  float sum = 0.0f;
  for (int i = 0; i < columns; i++) {
    a[i] = a[i] + b[i];
    sum = sum + a[i];
  }
  float mean = sum / (float)columns, size = 0.0f;
  for (int i = 0; i < columns; i++) {
    a[i] = a[i] - mean;
    size = size + (a[i] > 0.0f ? a[i] : -a[i]);
  }
  float divisor = size / (float)columns + 0.0009765625f;
  for (int i = 0; i < columns; i++) a[i] = a[i] / divisor;
}

// 3 x 3 convolution of images[channel][y][x] with zeros around; adds `skip` if there is one; relu.
extern "C" __global__ void convolve(const float* in, const float* weights, const float* skip,
                                    float* out, int images, int from, int to, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= images * to * size * size) return;
  int x = i % size, y = i / size % size, channel = i / (size * size) % to;
  int image = i / (size * size * to);
  float sum = 0.0f;
  for (int c = 0; c < from; c++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        int v = y + dy, u = x + dx;
        bool inside = v >= 0 && v < size && u >= 0 && u < size;
        float value = inside ? in[((image * from + c) * size + v) * size + u] : 0.0f;
        sum = sum + value * weights[((channel * from + c) * 3 + dy + 1) * 3 + dx + 1];
      }
  if (skip) sum = sum + skip[i];
  out[i] = sum > 0.0f ? sum : 0.0f;
}

// The sum of each channel.
extern "C" __global__ void pool(const float* in, float* out, int channels, int pixels) {
  int channel = blockIdx.x * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  float sum = 0.0f;
  for (int i = 0; i < pixels; i++) sum = sum + in[channel * pixels + i];
  out[channel] = sum;
}

// errors = outputs - targets
extern "C" __global__ void subtract(const float* outputs, const float* targets, float* errors,
                                    int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) errors[i] = outputs[i] - targets[i];
}

// gradients = 0 where the activation was 0
extern "C" __global__ void through_relu(float* gradients, const float* activations, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && !(activations[i] > 0.0f)) gradients[i] = 0.0f;
}

extern "C" __global__ void descend(float* weights, const float* gradients, float rate, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) weights[i] = weights[i] - rate * gradients[i];
}

// Takes long: for tests and demonstrations.
extern "C" __global__ void spin(float* value, int rounds) {
  float x = value[0];
  for (int i = 0; i < rounds; i++) x = x + 1.0f;
  if (threadIdx.x == 0 && blockIdx.x == 0) value[0] = x;
}
"""


def numbers(seed: int, *shape: int) -> Array:
    """Like numbers in [-0.5, 0.5) in every run, on every machine."""
    return (numpy.random.RandomState(seed).random_sample(shape) - 0.5).astype(f32)


# ---- the same in NumPy ----

def matmul(a: Array, b: Array, bias: Any = None, relu: bool = False) -> Array:
    total = numpy.zeros((a.shape[0], b.shape[1]), f32)
    for k in range(a.shape[1]):
        total = total + a[:, k:k + 1] * b[k:k + 1, :]
    if bias is not None:
        total = total + bias
    return numpy.where(total > 0, total, f32(0)) if relu else total


def row_sum(x: Array) -> Array:
    total = numpy.zeros((x.shape[0], 1), f32)
    for i in range(x.shape[1]):
        total = total + x[:, i:i + 1]
    return total


def attend(scores: Array, scale: float) -> Array:
    x = scores * f32(scale)
    y = f32(1) + (x - x.max(axis=1, keepdims=True)) * f32(1 / 256)
    y = numpy.where(y > 0, y, f32(0))
    for _ in range(8):
        y = y * y
    return y / row_sum(y)


def add_and_normalise(x: Array, y: Array) -> Array:
    a = x + y
    a = a - row_sum(a) / f32(a.shape[1])
    return a / (row_sum(numpy.abs(a)) / f32(a.shape[1]) + f32(1 / 1024))


def convolve(images: Array, weights: Array, skip: Any = None) -> Array:
    size = images.shape[-1]
    padded = numpy.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    total = numpy.zeros((images.shape[0], weights.shape[0], size, size), f32)
    for c in range(images.shape[1]):
        for dy in range(3):
            for dx in range(3):
                part = padded[:, c, dy:dy + size, dx:dx + size]
                total = total + part[:, None] * weights[:, c, dy, dx][None, :, None, None]
    if skip is not None:
        total = total + skip
    return numpy.where(total > 0, total, f32(0))


# ---- the networks ----

class BertLike:
    """Two layers of attention and a perceptron over a row of tokens; input: their numbers."""

    name = "bert"

    def __init__(self, hip: Hip, batch: int = 1, tokens: int = 8, width: int = 16,
                 layers: int = 2) -> None:
        self.hip, self.batch, self.tokens, self.width = hip, batch, tokens, width
        self.words = numbers(1, 64, width)
        self.layers: List[Dict[str, Array]] = [
            {"q": numbers(10 * n + 2, width, width), "k": numbers(10 * n + 3, width, width),
             "v": numbers(10 * n + 4, width, width), "up": numbers(10 * n + 5, width, 2 * width),
             "bias": numbers(10 * n + 6, 2 * width), "down": numbers(10 * n + 7, 2 * width, width)}
            for n in range(layers)]
        self.scale = 1.0 / 4
        self.on_gpu = [{name: hip.array(value) for name, value in layer.items()}
                       for layer in self.layers]
        count = tokens * 2 * width
        self.x, self.q, self.k, self.v, self.y, self.z = (hip.empty(count) for _ in range(6))
        self.scores = hip.empty(tokens * tokens)

    def inputs(self, seed: int) -> Array:
        """A request."""
        return numpy.random.RandomState(seed).randint(0, 64, (self.batch, self.tokens))

    def _matmul(self, a: Any, b: Any, bias: Any, c: Any, rows: int, inner: int, columns: int,
                transpose_b: int = 0, relu: int = 0) -> None:
        import ctypes

        self.hip.launch("matmul", rows * columns, a, b, bias or ctypes.c_void_p(), c, rows, inner,
                        columns, 0, transpose_b, relu)

    def __call__(self, requests: Array) -> Array:
        """On the GPU."""
        t, w = self.tokens, self.width
        answers = []
        for request in requests:
            self.hip.write(self.x, self.words[request])
            for layer in self.on_gpu:
                for name, place in (("q", self.q), ("k", self.k), ("v", self.v)):
                    self._matmul(self.x, layer[name], None, place, t, w, w)
                self._matmul(self.q, self.k, None, self.scores, t, w, t, transpose_b=1)
                self.hip.launch("attend", t, self.scores, t, t, self.scale)
                self._matmul(self.scores, self.v, None, self.y, t, t, w)
                self.hip.launch("add_and_normalise", t, self.x, self.y, t, w)
                self._matmul(self.x, layer["up"], layer["bias"], self.z, t, w, 2 * w, relu=1)
                self._matmul(self.z, layer["down"], None, self.y, t, 2 * w, w)
                self.hip.launch("add_and_normalise", t, self.x, self.y, t, w)
            answers.append(self.hip.read(self.x, (t, w)))
        return numpy.stack(answers)

    def reference(self, requests: Array) -> Array:
        """In NumPy."""
        answers = []
        for request in requests:
            x = self.words[request]
            for layer in self.layers:
                q, k, v = (matmul(x, layer[name]) for name in "qkv")
                x = add_and_normalise(x, matmul(attend(matmul(q, k.T), self.scale), v))
                up = matmul(x, layer["up"], layer["bias"], relu=True)
                x = add_and_normalise(x, matmul(up, layer["down"]))
            answers.append(x)
        return numpy.stack(answers)


class ResNetLike:
    """A convolution, two blocks of two with a way around them, and a classifier; input: images."""

    name = "resnet"

    def __init__(self, hip: Hip, batch: int = 1, size: int = 6, channels: int = 4) -> None:
        self.hip, self.batch, self.size, self.channels = hip, batch, size, channels
        self.weights = [numbers(1, channels, 3, 3, 3)] + \
            [numbers(2 + n, channels, channels, 3, 3) for n in range(4)]
        self.last = numbers(9, channels, 10)
        self.on_gpu = [hip.array(each) for each in self.weights]
        self.last_on_gpu = hip.array(self.last)
        count = batch * channels * size * size
        self.image = hip.empty(batch * 3 * size * size)
        self.x, self.y, self.z = (hip.empty(count) for _ in range(3))
        self.sums, self.out = hip.empty(batch * channels), hip.empty(batch * 10)

    def inputs(self, seed: int) -> Array:
        """A request."""
        return numbers(seed + 100, self.batch, 3, self.size, self.size)

    def __call__(self, images: Array) -> Array:
        """On the GPU."""
        import ctypes

        none = ctypes.c_void_p()
        b, c, s = self.batch, self.channels, self.size
        count = b * c * s * s
        self.hip.write(self.image, images)
        self.hip.launch("convolve", count, self.image, self.on_gpu[0], none, self.x, b, 3, c, s)
        for first, second in ((1, 2), (3, 4)):
            self.hip.launch("convolve", count, self.x, self.on_gpu[first], none, self.y, b, c, c, s)
            self.hip.launch("convolve", count, self.y, self.on_gpu[second], self.x, self.z, b, c, c,
                            s)
            self.x, self.z = self.z, self.x
        self.hip.launch("pool", b * c, self.x, self.sums, b * c, s * s)
        self.hip.launch("matmul", b * 10, self.sums, self.last_on_gpu, none, self.out, b, c, 10, 0,
                        0, 0)
        return self.hip.read(self.out, (b, 10))

    def reference(self, images: Array) -> Array:
        """In NumPy."""
        x = convolve(images, self.weights[0])
        for first, second in ((1, 2), (3, 4)):
            x = convolve(convolve(x, self.weights[first]), self.weights[second], x)
        sums = row_sum(x.reshape(self.batch * self.channels, -1)).reshape(self.batch, -1)
        return matmul(sums, self.last)


class Perceptron:
    """A network with one hidden layer that learns; for the training loop."""

    RATE = 1 / 64

    def __init__(self, hip: Hip, batch: int = 8, inputs: int = 8, hidden: int = 16,
                 outputs: int = 4) -> None:
        self.hip = hip
        self.sizes: Tuple[int, int, int, int] = (batch, inputs, hidden, outputs)
        self.first, self.second = numbers(1, inputs, hidden), numbers(2, hidden, outputs)
        self.data = [(numbers(10 + n, batch, inputs), numbers(20 + n, batch, outputs))
                     for n in range(4)]
        self.w1, self.w2 = hip.array(self.first), hip.array(self.second)
        self.on_gpu = [(hip.array(x), hip.array(y)) for x, y in self.data]
        self.h, self.dh = hip.empty(batch * hidden), hip.empty(batch * hidden)
        self.o, self.e = hip.empty(batch * outputs), hip.empty(batch * outputs)
        self.g1, self.g2 = hip.empty(inputs * hidden), hip.empty(hidden * outputs)

    def step(self, number: int) -> None:
        """One step on the GPU; returns before it is done."""
        import ctypes

        none, launch = ctypes.c_void_p(), self.hip.launch
        b, i, h, o = self.sizes
        x, target = self.on_gpu[number % len(self.on_gpu)]
        launch("matmul", b * h, x, self.w1, none, self.h, b, i, h, 0, 0, 1)
        launch("matmul", b * o, self.h, self.w2, none, self.o, b, h, o, 0, 0, 0)
        launch("subtract", b * o, self.o, target, self.e, b * o)
        launch("matmul", h * o, self.h, self.e, none, self.g2, h, b, o, 1, 0, 0)
        launch("matmul", b * h, self.e, self.w2, none, self.dh, b, o, h, 0, 1, 0)
        launch("through_relu", b * h, self.dh, self.h, b * h)
        launch("matmul", i * h, x, self.dh, none, self.g1, i, b, h, 1, 0, 0)
        launch("descend", h * o, self.w2, self.g2, self.RATE, h * o)
        launch("descend", i * h, self.w1, self.g1, self.RATE, i * h)

    def weights(self) -> Tuple[Array, Array]:
        """What the GPU has learnt."""
        _, i, h, o = self.sizes
        return self.hip.read(self.w1, (i, h)), self.hip.read(self.w2, (h, o))

    def step_of_reference(self, number: int) -> None:
        """One step in NumPy."""
        x, target = self.data[number % len(self.data)]
        h = matmul(x, self.first, relu=True)
        e = matmul(h, self.second) - target
        g2 = matmul(h.T, e)
        dh = numpy.where(h > 0, matmul(e, self.second.T), f32(0))
        self.second = self.second - f32(self.RATE) * g2
        self.first = self.first - f32(self.RATE) * matmul(x.T, dh)

    def is_exact(self) -> bool:
        """Both have learnt the same, bit by bit."""
        first, second = self.weights()
        return first.tobytes() == self.first.tobytes() and \
            second.tobytes() == self.second.tobytes()


MODELS = {"bert": BertLike, "resnet": ResNetLike}
