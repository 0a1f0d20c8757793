//! Tool Call Check: does what a model told its user honour what its tools did?
//!
//! A [`request::Request`] holds the user's query, the generated text and the trace of tools. [`scan`] finds in the text what can
//! be checked (sentences, what they claim, and typed mentions), [`facts`] finds in the trace what it can be held against, and
//! four checks decide: [`relevance`], [`fidelity`], [`status`] and [`hallucination`]. What they find is a [`report::Report`].
//!
//! Rules decide only what they can see: a check that no rule decides is undecided, and never passes for followed.

pub mod calibration;
pub mod claims;
pub mod facts;
pub mod fidelity;
pub mod hallucination;
pub mod names;
pub mod relevance;
pub mod report;
pub mod request;
pub mod rows;
pub mod scan;
pub mod settings;
pub mod status;
pub mod support;
pub mod units;

use bumpalo::Bump;

use report::Report;
use request::Request;
use settings::Settings;

/// Decide all four checks.
pub fn check<'a>(request: &Request<'a>, settings: &Settings, bump: &'a Bump) -> Report {
    let scan = scan::scan(request.text, bump);
    let outcomes = status::outcomes(request, settings);
    let facts = facts::collect(request, &outcomes, settings, bump);
    let (fidelity, reflected) = fidelity::decide(request, &scan, &facts, &outcomes, settings, bump);
    let status = status::decide(request, &scan, &outcomes, settings);
    let hallucination = hallucination::decide(request, &scan, &facts, &outcomes, settings);
    let relevance = relevance::decide(request, &facts, &reflected, settings);
    Report::new(request, &scan, [relevance, fidelity, status, hallucination], settings)
}
