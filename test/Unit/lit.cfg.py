# Runs the GoogleTest binaries of test/unittests through lit.
import os

import lit.formats

config.name = "MPT-Unit"
config.suffixes = set()
config.test_source_root = os.path.join(config.mpt_obj_root, "test", "unittests")
config.test_exec_root = config.test_source_root
config.test_format = lit.formats.GoogleTest(".", "Tests")
config.environment["MPT_SOURCE_ROOT"] = config.mpt_src_root
for name in ("HOME", "TMP", "TEMP"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
