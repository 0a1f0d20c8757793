//! Lets the code ask for the version of Python that it is built for.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
