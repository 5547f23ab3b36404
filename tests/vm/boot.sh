#!/usr/bin/env bash
# Boots the image, runs JOB/run in it as root, and brings back what that left in /job/results.
#
# Usage: boot.sh IMAGE JOB RESULTS
#   RESULTS also gets console.log, log.txt, journal.txt, dmesg.txt and status (of JOB/run)
#   VM_REBOOTS  not empty: a reboot boots it again, with the same disks, and runs JOB/run again; else it ends there
#   VM_SECONDS  when it is given up (1500)      VM_MEMORY  in MiB (1536)      VM_ACCEL  kvm or tcg
# Exit status: that of JOB/run; 124 when it took too long; 125 when nothing came back.
set -euo pipefail

[ $# = 3 ] || { sed -n '2,9p' "$0" >&2; exit 2; }
image=$1 job=$2 results=$3

# /dev/kvm alone says little: in a nested machine it may answer, and no kernel gets past its first instructions.
accel=${VM_ACCEL:-}
if [ -z "$accel" ]; then
  accel=tcg
  if [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then accel=kvm; fi
fi
case $accel in
  kvm) machine=(-accel kvm -cpu host) clock='' ;;
  # Where Linux takes the clock for unstable, each look at it leaves the machine; on EC2 none leaves the process.
  tcg) machine=(-accel tcg,thread=multi,tb-size=512 -cpu max) clock='tsc=reliable clocksource=tsc' ;;
  *) echo "VM_ACCEL=$accel: kvm or tcg" >&2; exit 2 ;;
esac

reboot=(-no-reboot)
if [ -n "${VM_REBOOTS:-}" ]; then reboot=(); fi

mkdir -p "$results"
disks=$(mktemp -d "$results/disks.XXXXXX")
trap 'rm -rf "$disks"' EXIT
tar -cf "$disks/job.tar" -C "$job" .
truncate --size %512 "$disks/job.tar"
truncate --size 256M "$disks/results.tar"

status=0
# The board's asset tag is the instance id, as on EC2.
timeout --kill-after=10 "${VM_SECONDS:-1500}" qemu-system-x86_64 -machine pc "${machine[@]}" \
  -smp 2 -m "${VM_MEMORY:-1536}" -nodefaults -no-user-config "${reboot[@]}" -display none -monitor none \
  -serial stdio -nic none -device virtio-rng-pci \
  -smbios type=1,manufacturer='Amazon EC2',product=m7i.large \
  -smbios type=2,asset=i-0123456789abcdef0 \
  -kernel "$image/vmlinuz" -initrd "$image/initrd.img" \
  -append "root=/dev/vda rw console=ttyS0 quiet panic=-1 mitigations=off net.ifnames=0 systemd.show_status=false $clock" \
  -drive "file=$image/root.img,format=raw,if=virtio,snapshot=on" \
  -drive "file=$disks/job.tar,format=raw,if=virtio,readonly=on" \
  -drive "file=$disks/results.tar,format=raw,if=virtio,cache=unsafe" \
  </dev/null > >(tee "$results/console.log") || status=$?
wait
case $status in 124 | 137) echo "the virtual machine was not done after ${VM_SECONDS:-1500} s" >&2; exit 124 ;; esac
tar -xf "$disks/results.tar" -C "$results" 2>/dev/null || true
[ -s "$results/status" ] || { echo "nothing came back from the virtual machine: see $results/console.log" >&2; exit 125; }
exit "$(cat "$results/status")"
