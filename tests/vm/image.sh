#!/usr/bin/env bash
# Builds the disk that the virtual machine boots: Debian 12 with systemd, the kernel's NFS server and client, fio, rpm.
# What is to run in it comes later, on a second disk (boot.sh), so that one image serves every scenario.
#
# Usage, as root: image.sh DIRECTORY    makes vmlinuz, initrd.img, root.img and packages.txt in it, or nothing
set -euo pipefail

directory=${1:?usage: image.sh DIRECTORY}
here=$(cd "$(dirname "$0")" && pwd)
unfinished=$directory.unfinished
trap 'rm -rf "$unfinished"' EXIT
rm -rf "$unfinished"
mkdir -p "$unfinished"
root=$unfinished/root

packages=(
  systemd-sysv dbus kmod udev adduser ca-certificates
  linux-image-cloud-amd64 initramfs-tools busybox-static
  nfs-kernel-server nfs-common iproute2 nftables
  fio python3-minimal libpython3-stdlib socat
  rpm passwd cron
  bc wget
)

# The kernel of virtual machines has its block driver as a module; of the thousands of others none is needed to boot.
initramfs='mkdir -p "$1/etc/initramfs-tools/conf.d" && echo MODULES=list > "$1/etc/initramfs-tools/conf.d/vm" &&
  printf "%s\n" virtio_pci virtio_blk ext4 > "$1/etc/initramfs-tools/modules" &&
  echo COMPRESS=zstd >> "$1/etc/initramfs-tools/conf.d/vm"'

mmdebstrap --quiet --mode=root --variant=minbase --include="$(IFS=,; echo "${packages[*]}"),zstd" \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/efsmon/*' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-include=/usr/share/man/*/efsmon*' \
  --aptopt='Acquire::Retries "3"' --essential-hook="$initramfs" \
  bookworm "$root" >&2

# One unit runs what the second disk holds. Nothing else starts by itself, and nothing waits for a network or a login.
install -m 755 "$here/guest/job" "$root/usr/local/sbin/vm-job"
cat > "$root/etc/systemd/system/vm-job.service" <<'UNIT'
[Unit]
After=multi-user.target

[Service]
Type=oneshot
ExecStart=/usr/local/sbin/vm-job
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
TimeoutStartSec=infinity
UNIT
mkdir -p "$root/etc/systemd/system/default.target.wants"
ln -s ../vm-job.service "$root/etc/systemd/system/default.target.wants/vm-job.service"
ln -sf /lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
for unit in getty.target apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
    fstrim.timer systemd-timesyncd.service nfs-server.service nfs-blkmap.service rpc-statd-notify.service \
    e2scrub_reap.service rpcbind.service rpcbind.socket remote-fs.target cron.service \
    systemd-logind.service systemd-user-sessions.service systemd-update-utmp.service \
    systemd-update-utmp-runlevel.service systemd-binfmt.service proc-sys-fs-binfmt_misc.automount \
    modprobe@{configfs,dm_mod,drm,efi_pstore,fuse,loop}.service; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
echo efsmon-vm > "$root/etc/hostname"
echo '127.0.0.1 localhost efsmon-vm' > "$root/etc/hosts"
: > "$root/etc/fstab"
: > "$root/etc/machine-id"
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*

cp -L "$root"/boot/vmlinuz-* "$unfinished/vmlinuz"
cp -L "$root"/boot/initrd.img-* "$unfinished/initrd.img"
dpkg-query --admindir="$root/var/lib/dpkg" --show > "$unfinished/packages.txt"
rm -rf "$root"/boot/*

mebibytes=$(( $(du --summarize --apparent-size --block-size=1M "$root" | cut -f1) * 13 / 10 + 256 ))
truncate --size "${mebibytes}M" "$unfinished/root.img"
mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$root" "$unfinished/root.img"
rm -rf "$root" "$directory"
mv "$unfinished" "$directory"
