# SPDX-License-Identifier: Apache-2.0
"""Conan 2 recipe: conan create cmake/packages/conan -s compiler.cppstd=20

Takes the sources beside it, and oneDNN, zlib, nlohmann_json and MPI from the system: nothing is fetched. Each option is a component of the
CMake package, with the target of the same name; what an option needs and the system has not is said when the package is made.
"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

ROOT = os.path.join("..", "..", "..")


class Tessera(ConanFile):
    name = "tessera"
    description = "Typed networks, planned and run over many devices"
    license = "Apache-2.0"
    topics = ("header-only", "neural-networks", "parallelism")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {name: [True, False] for name in ("host", "io", "json", "ranges", "mpi")}
    default_options = {"host": True, "io": True, "json": True, "ranges": False, "mpi": False}
    options_description = {"host": "the executor on the CPU, with the system's oneDNN", "io": "files and data sets, with the system's zlib",
                           "json": "JSON files of io, with the system's nlohmann_json", "ranges": "views of io, with the system's range-v3",
                           "mpi": "ranks, with the system's MPI"}
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, ROOT, "include", "tessera", "version.hpp"))
        self.version = ".".join(re.findall(r"(?m)^#define TESSERA_VERSION_(?:MAJOR|MINOR|PATCH) ([0-9]+)$", header))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*", "cmake/*.cmake", "cmake/*.in", "cmake/packages/conan/*.cmake"):
            copy(self, pattern, os.path.join(self.recipe_folder, ROOT), self.export_sources_folder)

    def configure(self):
        if not self.options.io:
            self.options.rm_safe("json")
            self.options.rm_safe("ranges")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("host", "io", "json", "ranges", "mpi", "cuda", "cli"):
            toolchain.cache_variables[f"TESSERA_WITH_{part.upper()}"] = "ON" if self.options.get_safe(part, False) else "OFF"
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS", "PYTHON"):
            toolchain.cache_variables[f"TESSERA_BUILD_{part}"] = "OFF"
        toolchain.cache_variables["TESSERA_INSTALL"] = "ON"
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "share", "cmake"))  # CMakeDeps makes these for each consumer
        rmdir(self, os.path.join(self.package_folder, "share", "doc"))
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.cmake", os.path.join(self.source_folder, "cmake", "packages", "conan"), os.path.join(self.package_folder, "share", "conan"))

    def package_id(self):
        self.info.settings.clear()  # headers alone

    def package_info(self):
        # CMakeDeps makes the CMake files of consumers: versions mean the same as in those that the library installs itself.
        self.cpp_info.set_property("cmake_file_name", "tessera")
        major = int(str(self.version).split(".", maxsplit=1)[0])
        self.cpp_info.set_property("cmake_config_version_compat", "SameMinorVersion" if major == 0 else "SameMajorVersion")
        self.add_component("core", [], [])
        self.add_component("execute", ["core"], ["pthread"])
        self.add_component("placement", ["core"], [])
        self.add_component("certified", ["core"], [])
        self.add_component("learned", ["execute", "placement"], [])
        if self.options.host:
            self.add_component("host", ["execute"], ["dnnl", "gomp"])
        if self.options.io:
            self.add_component("io", ["core"], ["z"])
            self.add_component("contest", ["io", "certified", "placement"], [])
            if self.options.json:
                self.add_component("onnx", ["io"], [])
                self.add_component("torch_export", ["io", "execute"], [])
        if self.options.mpi:
            self.add_component("mpi", ["execute"], [])
            self.cpp_info.set_property("cmake_build_modules", [os.path.join("share", "conan", "system_mpi.cmake")])

    def add_component(self, name, requires, libraries):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"tessera::{name}")
        component.requires, component.system_libs = requires, libraries
        component.bindirs, component.libdirs = [], []
