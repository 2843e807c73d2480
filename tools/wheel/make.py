#!/usr/bin/env python3
"""usage: make.py BUILD OUT: makes a Python wheel of the build in the directory OUT.

The wheel holds what `make install` installs, clang 19 for weircc, and the libraries of this system that
either is linked with, but for those that every Linux has (the C library, libstdc++, libgcc_s). Its name says
which glibc it needs at least: the newest version of a symbol that any of its files asks for.

It needs patchelf, and takes the licenses of what it carries from Debian's packages."""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
LLVM = "/usr/lib/llvm-19"
# What manylinux expects of every system.
OF_THE_SYSTEM = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|stdc\+\+|gcc_s)\.so(\..*)?)$")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def files_below(root):
    for directory, _, names in os.walk(root):
        for name in names:
            yield os.path.join(directory, name)


def dynamic(path):
    """Whether it is a program or a shared library, which has a dynamic section."""
    return is_elf(path) and "NEEDED" in output("readelf", "-d", path)


def name_by_soname(root):
    """Names each library as programs ask for it, libcudart.so.13.0 as libcudart.so.13: no link is needed then."""
    lib = os.path.join(root, "lib")
    for name in os.listdir(lib):
        path = os.path.join(lib, name)
        if os.path.islink(path) and re.search(r"\.so\.\d+$", name):
            os.replace(os.path.realpath(path), path)


def take_links(root):
    """Removes the symbolic links; returns (path, target) of each. nvcc, which others start, stays a file."""
    links = []
    for directory, below, names in os.walk(root):
        for name in below + names:
            path = os.path.join(directory, name)
            if os.path.islink(path):
                links.append((os.path.relpath(path, root), os.readlink(path)))
                os.unlink(path)
    nvcc = os.path.join("lib", "weir", "cuda", "bin", "nvcc")
    links = [link for link in links if link[0] != nvcc]
    with open(os.path.join(root, nvcc), "w", encoding="utf-8") as script:
        script.write('#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/../../../../bin/weircc" "$@"\n')
    os.chmod(os.path.join(root, nvcc), 0o755)
    return sorted(links)


def take_clang(root):
    """clang and lld with clang's own headers, in lib/weir/llvm, where weircc looks first."""
    to = os.path.join(root, "lib", "weir", "llvm")
    os.makedirs(os.path.join(to, "bin"))
    for name, program in (("clang", "clang"), ("clang++", "clang"), ("ld.lld", "lld")):
        shutil.copy(os.path.realpath(os.path.join(LLVM, "bin", program)), os.path.join(to, "bin", name))
    shutil.copytree(os.path.realpath(os.path.join(LLVM, "lib", "clang", "19", "include")),
                    os.path.join(to, "lib", "clang", "19", "include"))


def take_libraries(root):
    """Copies the libraries that programs and libraries are linked with; returns where they came from."""
    to = os.path.join(root, "lib", "weir", "llvm", "lib")
    own = {os.path.basename(path) for path in files_below(root)}
    taken = {}
    waiting = [path for path in files_below(root) if is_elf(path) and dynamic(path)]
    while waiting:
        for name, path in re.findall(r"(\S+) => (/\S+)", output("ldd", waiting.pop())):
            if OF_THE_SYSTEM.match(name) or name in own or name in taken:
                continue
            taken[name] = os.path.realpath(path)
            shutil.copy(taken[name], os.path.join(to, name))
            waiting.append(taken[name])
    return sorted(set(taken.values()))


def finish_binary(root, path):
    """Without debug information, and with paths to the wheel's own libraries."""
    os.chmod(path, 0o755)
    subprocess.run(["strip", "--strip-unneeded", path], check=True)
    paths = [os.path.relpath(os.path.join(root, lib), os.path.dirname(path))
             for lib in ("lib", os.path.join("lib", "weir", "llvm", "lib"))]
    subprocess.run(["patchelf", "--set-rpath", ":".join(f"$ORIGIN/{p}" for p in paths), path], check=True)


def glibc_needed(paths):
    """The newest version of glibc whose symbols these files ask for."""
    newest = (2, 17)
    for path in paths:
        for major, minor in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", output("readelf", "-V", path)):
            newest = max(newest, (int(major), int(minor)))
    return newest


def take_licenses(to, files):
    """The licenses of what is carried, by Debian package."""
    os.makedirs(to)
    shutil.copy(os.path.join(SOURCE, "LICENSE"), to)
    packages = set()
    for path in files:
        for candidate in (path, path.removeprefix("/usr")): # a package may name it without /usr
            found = subprocess.run(["dpkg-query", "-S", candidate], capture_output=True, text=True, check=False)
            if found.returncode == 0:
                packages.add(found.stdout.split(":")[0])
                break
        else:
            sys.exit(f"make.py: no Debian package has {path}: its license cannot be told")
    for package in sorted(packages):
        shutil.copy(f"/usr/share/doc/{package}/copyright", os.path.join(to, f"{package}.copyright"))


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_metadata(info, version, tag):
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as readme:
        description = readme.read()
    write(os.path.join(info, "METADATA"),
          f"Metadata-Version: 2.1\nName: weir\nVersion: {version}\n"
          "Summary: Runs CUDA programs on the CPU\nLicense: Apache-2.0\nRequires-Python: >=3.8\n"
          f"Description-Content-Type: text/markdown\n\n{description}")
    write(os.path.join(info, "WHEEL"),
          f"Wheel-Version: 1.0\nGenerator: weir\nRoot-Is-Purelib: false\nTag: {tag}\n")
    write(os.path.join(info, "entry_points.txt"),
          "[console_scripts]\nweir = weir:weir\nweircc = weir:weircc\n")


def pack(stage, info, wheel):
    """Writes the wheel with its RECORD."""
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in sorted(files_below(stage)):
            name = os.path.relpath(path, stage)
            with open(path, "rb") as file:
                content = file.read()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}")
            archive.write(path, name)
        name = os.path.relpath(os.path.join(info, "RECORD"), stage)
        archive.writestr(name, "\n".join(record + [f"{name},,"]) + "\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, out = sys.argv[1:]
    if shutil.which("patchelf") is None:
        sys.exit("make.py: patchelf is missing: apt install patchelf")
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as stage:
        root = os.path.join(stage, "weir")
        subprocess.run(["cmake", "--install", build, "--prefix", root], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["sh", os.path.join(SOURCE, "cmake", "cccl_link.sh"), root, "inside"], check=True)
        # the archive will lie elsewhere
        subprocess.run(["sh", os.path.join(SOURCE, "src", "runtime", "place.sh"), "cc", "ar",
                        os.path.join(root, "lib", "libcudart_static.a"), ""], check=True)
        version = output(os.path.join(root, "bin", "weir"), "--version").split()[1]
        name_by_soname(root)
        links = take_links(root)
        take_clang(root)
        libraries = take_libraries(root)
        binaries = [path for path in files_below(root) if dynamic(path)]
        for path in binaries:
            finish_binary(root, path)
        write(os.path.join(root, "links.txt"), "".join(f"{path}\t{target}\n" for path, target in links))
        shutil.copy(os.path.join(HERE, "package.py"), os.path.join(root, "__init__.py"))
        tag = "py3-none-manylinux_{}_{}_{}".format(*glibc_needed(binaries), os.uname().machine)
        info = os.path.join(stage, f"weir-{version}.dist-info")
        take_licenses(os.path.join(info, "licenses"),
                      libraries + [os.path.realpath(os.path.join(LLVM, "bin", name)) for name in ("clang", "lld")])
        write_metadata(info, version, tag)
        wheel = os.path.join(out, f"weir-{version}-{tag}.whl")
        pack(stage, info, wheel)
    print(f"{wheel}: {os.path.getsize(wheel) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
