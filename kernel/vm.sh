# Boots a kernel in QEMU and runs a script in it. Sourced by the scripts that test there; they have
# set $cache (fetch-source) and $kernel_abi (version), and may set $vm_modules, the folder with
# lib/modules (default: Debian's own).
#
#   vm_start                    an empty root file system in $vm_root, with busybox
#   vm_add_stock_module NAME    the module modprobe would load, and those it needs;
#                               /bin/load_modules loads them
#   vm_add_module FILE          a module of ours, as /modules/<name>
#   vm_add_program FILE         a program, as /bin/<name>, with the libraries it is linked with
#   vm_run [KERNEL] < SCRIPT    boots, runs the script, prints what it printed. Fails if the script
#                               did not come to its end or the kernel complained.
#
# QEMU's own CPU emulation (TCG) is used: a /dev/kvm that opens is no proof that it works.
# Environment: TIMEOUT (seconds for the virtual machine).

vm_kernel=$kernel_abi-amd64
# PCI devices that nobody drives: each emulated GPU borrows one.
vm_devices=()
for _ in 1 2 3 4 5 6; do vm_devices+=(-device pci-testdev); done
# What the kernel says when it finds a fault of its own: crashes, and the findings of KASAN and
# lockdep.
vm_faults='BUG|WARNING|Oops|general protection|refcount_t:|(add|del) corruption|Call Trace|KASAN'
vm_faults+='|possible (circular|recursive)|suspicious RCU|ODEBUG'

vm_start() {
  local applet
  if ! command -v qemu-system-x86_64 > /dev/null; then
    echo "kernel/vm: skipped: no QEMU" >&2
    exit 77
  fi
  vm_work=$(mktemp -d)
  trap 'rm -rf "$vm_work"' EXIT
  vm_root=$vm_work/root
  mkdir -p "$vm_root"/{bin,proc,sys,dev,etc,modules,tmp,run}
  chmod 755 "$vm_work" "$vm_root"
  chmod 1777 "$vm_root/tmp"
  cp "$(command -v busybox)" "$vm_root/bin/busybox"
  for applet in $(busybox --list | grep -vx busybox); do
    ln -s busybox "$vm_root/bin/$applet"
  done
  echo '#!/bin/sh' > "$vm_root/bin/load_modules"
  chmod +x "$vm_root/bin/load_modules"
}

# The image package has no modules.dep: that is made when it is installed.
vm_add_stock_module() {
  local line file name
  local modules=${vm_modules:-$cache/img}
  [[ -e $modules/lib/modules/$vm_kernel/modules.dep ]] || depmod -b "$modules" "$vm_kernel"
  modprobe -D -d "$modules" -S "$vm_kernel" "$1" > "$vm_work/depends"
  while read -r line file; do
    name=$(basename "$file" .xz)
    [[ ! -e $vm_root/modules/$name ]] || continue
    xz -dc "$file" > "$vm_root/modules/$name"
    echo "insmod /modules/$name || exit 1" >> "$vm_root/bin/load_modules"
  done < "$vm_work/depends"
}

vm_add_module() { strip --strip-debug -o "$vm_root/modules/$(basename "$1")" "$1"; }

vm_add_program() {
  local library
  install -D "$1" "$vm_root/bin/$(basename "$1")"
  # A static program has none, which ldd calls a failure.
  for library in $(ldd "$1" 2> /dev/null | grep -o '/[^ ]*' || true); do
    [[ -e $vm_root$library ]] || install -D "$library" "$vm_root$library"
  done
}

# Results go to a serial port of their own: on the console they would mix with the kernel's log.
vm_write_init() {
  cat > "$vm_root/test_script"
  cat > "$vm_root/init" << 'INIT'
#!/bin/sh
export PATH=/bin HOME=/
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mount -t debugfs dbg /sys/kernel/debug
echo 'root:x:0:0:root:/:/bin/sh' > /etc/passwd
echo 'user:x:1000:1000:user:/:/bin/sh' >> /etc/passwd
exec > /dev/ttyS1 2>&1
sh /test_script
echo "kernel log:"
dmesg
echo "end of the kernel log"
poweroff -f
INIT
  chmod +x "$vm_root/init"
}

# no_timer_check: on a busy machine the emulated timer can be too late for the kernel's test of it.
# rcu_cpu_stall_suppress: and an emulated CPU can stand still for longer than the kernel believes.
# log_buf_len: what is looked for in the log must not have been pushed out of it.
vm_boot() {
  (cd "$vm_root" && find . | cpio -o -H newc --quiet | gzip -1) > "$vm_work/initramfs"
  nice -n 10 timeout --foreground "${TIMEOUT:-600}" qemu-system-x86_64 -accel tcg,thread=multi \
    -smp 2 -cpu max -m 1024 -nographic -no-reboot -nodefaults -monitor none \
    -serial file:"$vm_work/console" -serial file:"$vm_work/results" \
    "${vm_devices[@]}" -kernel "$1" -initrd "$vm_work/initramfs" \
    -append 'console=ttyS0 panic=-1 quiet no_timer_check log_buf_len=16M
      rcupdate.rcu_cpu_stall_suppress=1' < /dev/null || true
}

vm_run() {
  local log=$vm_work/kernel.log
  vm_write_init
  vm_boot "${1:-$cache/img/boot/vmlinuz-$vm_kernel}"
  tr -d '\r' < "$vm_work/results" > "$vm_work/clean" || true
  sed '/^kernel log:$/,$d' "$vm_work/clean"
  if ! grep -q '^end of the kernel log$' "$vm_work/clean"; then
    echo "kernel/vm: the virtual machine ended early; the end of its console:" >&2
    tail -40 "$vm_work/console" >&2 || true
    return 1
  fi
  sed '1,/^kernel log:$/d' "$vm_work/clean" > "$log"
  if grep -qE "$vm_faults" "$log"; then
    echo "kernel/vm: the kernel found a fault of its own:" >&2
    grep -E -m 5 -A 40 "$vm_faults" "$log" >&2
    return 1
  fi
}
