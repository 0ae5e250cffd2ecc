#!/bin/sh
# What a release must do on a system it does not know: run by other-systems, as root of a root with
# busybox in it and the archive in /gpreempt.
set -eu
/bin/busybox --install -s /bin
cd /gpreempt
library() { ls /lib/x86_64-linux-gnu/libc.so.6 /usr/lib/x86_64-linux-gnu/libc.so.6 2> /dev/null | head -n 1; }
echo "ok $(strings "$(library)" | grep -m 1 'GNU C Library')"

bin/gpreempt --version
# 3: there is no GPU, which it says.
status=0
bin/gpreempt doctor || status=$?
[ $status -eq 3 ]
echo "ok gpreempt runs and says what it finds"

# Every symbol is found, not only those that are called here.
for file in bin/gpreempt bin/vgpu sbin/gpreemptd libexec/gpreempt/gpreempt-tiny-model; do
  LD_BIND_NOW=1 $file --help > /dev/null
done
for library in lib/gpreempt/*.so lib/*.so.0; do
  LD_LIBRARY_PATH=lib LD_BIND_NOW=1 LD_PRELOAD=/gpreempt/$library true 2> /tmp/said
  if grep . /tmp/said; then exit 1; fi
done
echo "ok programs and libraries find all symbols"

# With the Python of this system.
cat > /tmp/with-python.py << 'END'
import sys, warnings, gpreempt, gpreempt.torch, gpreempt.report
warnings.simplefilter("ignore")
with gpreempt.online():
    assert gpreempt.library_path() == "/gpreempt/lib/libgpreempt.so.0"
assert gpreempt.nodes()[0].gfx == "gfx90a"
print("ok the Python package, with", sys.version.split()[0])
END
PYTHONPATH=share/gpreempt/python PYTHONDONTWRITEBYTECODE=1 bin/vgpu run -- python3 /tmp/with-python.py

# Users and groups are those of the system.
printf 'socket_group = "students"\n' > /tmp/good.toml
printf 'socket_group = "nobody-knows"\n' > /tmp/bad.toml
bin/gpreempt config check /tmp/good.toml
if bin/gpreempt config check /tmp/bad.toml; then exit 1; fi
echo "ok groups are looked up"

./install.sh --prefix /opt/gpreempt
cat > /tmp/on-a-gpu.sh << 'END'
set -eu
export GPREEMPT_SOCKET=/tmp/gpreempt.sock PATH=/opt/gpreempt/bin:/bin
/opt/gpreempt/sbin/gpreemptd --socket "$GPREEMPT_SOCKET" &
daemon=$!
tries=0
until gpreempt status > /tmp/status 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt 100 ] || { cat /tmp/status; exit 1; }
  sleep 0.1
done
grep 'policy strict' /tmp/status
gpreempt doctor | grep gfx90a
kill $daemon
wait $daemon
END
/opt/gpreempt/bin/vgpu run -- /bin/sh /tmp/on-a-gpu.sh
echo "ok the daemon answers, on a virtual GPU"
./install.sh --prefix /opt/gpreempt --uninstall
[ -z "$(ls /opt/gpreempt)" ]
echo "ok installed and removed"
