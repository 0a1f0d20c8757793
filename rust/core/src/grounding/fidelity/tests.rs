//! What is right, by example.

use bumpalo::Bump;

use crate::{
    grounding::{
        check,
        report::{Check, Decision, Relation, Verdict},
        request::Request,
        settings::Settings,
    },
    json, show,
    value::{MAX_RECORD_DEPTH, Value},
};

/// What is decided of a text, beside the result of one call.
fn decided(text: &str, response: &str) -> (Decision, String) {
    decided_of(text, &[("lookup", "{}", response)])
}

/// The same of several calls: name, arguments, response.
fn decided_of(text: &str, calls: &[(&str, &str, &str)]) -> (Decision, String) {
    let bump = Bump::new();
    let trace: Vec<String> = calls
        .iter()
        .map(|(tool, arguments, response)| {
            format!(
                r#"{{"tool_name": "{tool}", "status": "success", "request_payload": {arguments}, "response_payload": {response}}}"#
            )
        })
        .collect();
    let text_json = show::json_text(Value::Text(text.into()));
    let request = format!(
        r#"{{"user_query": "What is there to know?", "generated_text": {text_json}, "tool_trace": [{}]}}"#,
        trace.join(", ")
    );
    let value = json::parse(request.as_bytes(), MAX_RECORD_DEPTH, &bump).unwrap();
    let request = Request::read(value, &bump).unwrap();
    let report = check(&request, &Settings::default(), &bump);
    let [_, fidelity, ..] = report.decisions;
    assert_eq!(fidelity.check, Check::ResultFidelity);
    (fidelity, text.to_owned())
}

/// The places of the text that contradict a result, or are in none.
fn flagged((decision, text): &(Decision, String)) -> Vec<String> {
    let flags = decision
        .evidence
        .iter()
        .filter(|evidence| matches!(evidence.relation, Relation::Unsupported | Relation::Contradicted));
    flags
        .filter_map(|evidence| evidence.span)
        .map(|span| text[span.start as usize..span.end as usize].to_owned())
        .collect()
}

fn violated(text: &str, response: &str, flags: &[&str]) {
    let decided = decided(text, response);
    assert_eq!(decided.0.verdict, Verdict::Violated, "{text}");
    assert_eq!(flagged(&decided), flags, "{text}");
    assert!(decided.0.explanation.ends_with('.'), "{}", decided.0.explanation);
}

fn followed(text: &str, response: &str) {
    let decided = decided(text, response);
    assert_eq!((decided.0.verdict, flagged(&decided)), (Verdict::Followed, Vec::new()), "{text}");
}

/// Neither followed nor flagged.
fn not_flagged(text: &str, response: &str) {
    let decided = decided(text, response);
    assert_eq!(flagged(&decided), Vec::<String>::new(), "{text}");
}

const SCORES: &str = r#"{"players": [
    {"name": "Ann Reed", "points": 12, "rebounds": 5}, {"name": "Bo Lind", "points": 7, "rebounds": 12}, {"name": "Cy Moss", "points": 30, "rebounds": 1}]}"#;

#[test]
fn a_sign_that_is_lost_or_turned_round() {
    violated("It's 3 °C.", r#"{"temp_c": -3}"#, &["3 °C"]);
    followed("It's -3 °C.", r#"{"temp_c": -3}"#);
    followed("It's 3 degrees below zero.", r#"{"temp_c": -3}"#);
    violated("The stock gained 2.3%.", r#"{"change_pct": -2.3}"#, &["2.3%"]);
    followed("The stock fell 2.3%.", r#"{"change_pct": -2.3}"#);
    violated("Visits fell from 1,200 to 1,350.", r#"{"before": 1200, "after": 1350}"#, &["fell from 1,200 to 1,350"]);
    followed("Visits rose from 1,200 to 1,350.", r#"{"before": 1200, "after": 1350}"#);
}

#[test]
fn a_number_is_held_against_the_key_that_the_words_around_it_name() {
    let weather = r#"{"temperature": 12, "humidity": 81, "wind_speed": 5}"#;
    violated("The humidity is 12 and the temperature is 81.", weather, &["12", "81"]);
    followed("The humidity is 81 and the temperature is 12.", weather);
    let prices = r#"{"adult_price": 14, "child_price": 6.5, "currency": "EUR"}"#;
    violated("Adults pay €6.50 and children €14.", prices, &["€6.50", "€14"]);
    followed("Adults pay €14 and children €6.50.", prices);
}

#[test]
fn a_number_is_held_against_the_record_that_its_sentence_names() {
    let flags = |text| flagged(&decided(text, SCORES));
    assert_eq!(flags("Ann Reed had 7 points and 5 rebounds."), ["7"]);
    assert_eq!(flags("Bo Lind added 7 points, 12 rebounds."), [""; 0]);
    assert_eq!(flags("Reed scored 12 points, while Lind had 5 rebounds."), ["5"]);
    assert_eq!(flags("Bo Lind's 12-point, 12-rebound effort was not enough."), ["12"]);
    // Two may be meant, or it is no value of one.
    assert_eq!(flags("Ann Reed and Bo Lind had 5 rebounds."), [""; 0]);
    assert_eq!(flags("Ann Reed and Bo Lind combined for 19 points."), [""; 0]);
    assert_eq!(flags("Ann Reed made a 7-point lead."), [""; 0]);
    assert_eq!(flags("Ann Reed scored 5 more points than Bo Lind."), [""; 0]);
}

#[test]
fn a_number_of_another_row() {
    let table = r#""region,revenue\nNorth,120500\nSouth,98300\n""#;
    assert_eq!(flagged(&decided("South leads with 120,500, followed by North with 98,300.", table)).len(), 2);
    assert_eq!(flagged(&decided("North leads with 120,500, followed by South with 98,300.", table)), [""; 0]);
    let cities = [
        ("weather", r#"{"city": "Cairo"}"#, r#"{"city": "Cairo", "temp_c": 24}"#),
        ("weather", r#"{"city": "Lima"}"#, r#"{"city": "Lima", "temp_c": 19}"#),
    ];
    assert_eq!(flagged(&decided_of("It's 19 °C in Cairo and 24 °C in Lima.", &cities)), ["19 °C", "24 °C"]);
    assert_eq!(flagged(&decided_of("It's 24 °C in Cairo and 19 °C in Lima.", &cities)), [""; 0]);
}

#[test]
fn what_a_series_has_on_a_day_at_most_and_on_average() {
    let series = r#""date,value\n2020,5.5\n2021,7.25\n2022,6.75\n2023,4.5\n""#;
    let flags = |text| flagged(&decided(text, series));
    assert_eq!(flags("In 2021, it was 6.75."), ["2021, it was 6.75"]);
    assert_eq!(flags("In 2021, it was 7.25."), [""; 0]);
    assert_eq!(flags("It reached its peak of 6.75 in the end."), ["6.75"]);
    assert_eq!(flags("It reached its peak of 7.25 in 2021."), [""; 0]);
    assert_eq!(flags("It was highest in 2022."), ["2022"]);
    assert_eq!(flags("It was highest in 2021."), [""; 0]);
    assert_eq!(flags("In 2020 and 2021, it was 5.5 and 7.25, respectively."), [""; 0]);
    let numbers = r#"{"values": [10, 20, 30, 48]}"#;
    assert_eq!(flags_of("The average is 30.", numbers), ["30"]);
    assert_eq!(flags_of("The average is 27.", numbers), [""; 0]);
}

fn flags_of(text: &str, response: &str) -> Vec<String> {
    flagged(&decided(text, response))
}

#[test]
fn booleans_and_words_of_state() {
    let stock = r#"{"sku": "X1", "in_stock": false}"#;
    violated("Good news, X1 is available now.", stock, &["available"]);
    followed("X1 isn't in stock.", stock);
    followed("X1 is sold out.", stock);
    not_flagged("X1 could be available in May.", stock);
    not_flagged("Is X1 available?", stock);
    violated("The service is operational.", r#"{"status": "degraded"}"#, &["operational"]);
    violated("There are no issues.", r#"{"status": "degraded"}"#, &["issues"]);
    followed("The service is degraded.", r#"{"status": "degraded"}"#);
    violated("Your refund went through.", r#"{"success": false}"#, &["went through"]);
    violated(
        "It comes with Wi-Fi, GPS and NFC.",
        r#"[{"name": "NFC", "value": "No"}, {"name": "GPS", "value": "Yes"}]"#,
        &["NFC"],
    );
    not_flagged(
        "It comes with GPS, but there is no NFC.",
        r#"[{"name": "NFC", "value": "No"}, {"name": "GPS", "value": "Yes"}]"#,
    );
    violated("It contains nuts.", r#"{"contains_nuts": false}"#, &["contains nuts"]);
    violated("The email is verified.", r#"{"emailVerified": false}"#, &["email is verified"]);
}

#[test]
fn steps_that_are_not_reached() {
    violated("Your parcel has been delivered.", r#"{"status": "in_transit"}"#, &["delivered"]);
    followed("Your parcel has been shipped.", r#"{"status": "in transit"}"#);
    not_flagged("Your parcel has been shipped.", r#"{"status": "delivered"}"#);
    followed("It has not been delivered, it is in transit.", r#"{"status": "in transit"}"#);
}

#[test]
fn states_of_several_records() {
    let shipments = r#"{"shipments": [{"id": "S-101", "status": "delivered"}, {"id": "S-102", "status": "delayed"}]}"#;
    violated("S-102 has been delivered.", shipments, &["delivered"]);
    followed("S-101 has been delivered.", shipments);
    violated("All shipments have been delivered.", shipments, &["delivered"]);
}

#[test]
fn counts_and_nothing() {
    let three = r#"{"results": [{"t": "Boston fern"}, {"t": "Royal fern"}, {"t": "Tree fern"}]}"#;
    violated("I found four results.", three, &["four"]);
    followed("I found three results.", three);
    violated("I found two results.", three, &["two"]);
    not_flagged("Here are two results that may fit.", three);
    violated("No results were found.", three, &["No results were found."]);
    followed("Nothing was found.", r#"{"results": []}"#);
    followed(
        "57 matches; here are the first three.",
        r#"{"total": 57, "results": [{"t": "a1"}, {"t": "b2"}, {"t": "c3"}]}"#,
    );
}

#[test]
fn which_record_is_first() {
    let flights = r#"{"flights": [{"flight": "TP135", "price": 118}, {"flight": "BA502", "price": 163}, {"flight": "IB316", "price": 97}]}"#;
    assert_eq!(flags_of("The cheapest is TP135.", flights), ["TP135"]);
    assert_eq!(flags_of("The cheapest flight is IB316.", flights), [""; 0]);
    assert_eq!(flags_of("BA502 is the most expensive.", flights), [""; 0]);
    assert_eq!(flags_of("IB316 is the most expensive flight.", flights), ["IB316"]);
    assert_eq!(flags_of("The cheapest nonstop flight is TP135.", flights), [""; 0]);
}

#[test]
fn from_and_to() {
    let flight = r#"{"origin": "Porto", "destination": "Lisbon", "minutes": 55}"#;
    assert_eq!(flags_of("It flies from Lisbon to Porto.", flight), ["Lisbon", "Porto"]);
    assert_eq!(flags_of("It flies from Porto to Lisbon.", flight), [""; 0]);
}

#[test]
fn nothing_of_what_came_back_is_told() {
    let score = r#"{"score": 713, "band": "good"}"#;
    violated("I don't have access to live data.", score, &["I don't have access to live data."]);
    violated(
        "Checking finances regularly makes a great habit!",
        score,
        &["Checking finances regularly makes a great habit!"],
    );
    followed("It is 713.", score);
}

#[test]
fn no_call_that_succeeded() {
    assert_eq!(decided_of("Hello!", &[]).0.verdict, Verdict::Vacuous);
}

#[test]
fn values_in_no_result() {
    violated("The price is €49.99.", r#"{"price": 59.99, "currency": "EUR"}"#, &["€49.99"]);
    violated("Write to ann@example.com.", r#"{"email": "anna@example.com"}"#, &["ann@example.com"]);
    not_flagged("If it were €49.99, it would be cheap.", r#"{"price": 59.99, "currency": "EUR"}"#);
    not_flagged("There are two ways to pay.", r#"{"price": 59.99, "currency": "EUR"}"#);
}

#[test]
fn any_text_and_any_json() {
    for text in [
        "",
        "\u{0}",
        "the most",
        "all",
        "from to",
        "- - 1-1",
        "no no no",
        "is is",
        "12",
        "…",
        "cheapest is",
        "\u{300}a",
    ] {
        for response in
            ["null", "[]", "{}", "[[[[]]]]", "1e999", "\"\"", r#"{"": ""}"#, r#"[{"a": 1}, 2, "b", [null]]"#, SCORES]
        {
            let decided = decided(text, response);
            assert!(
                decided
                    .0
                    .evidence
                    .iter()
                    .filter_map(|evidence| evidence.span)
                    .all(|span| { text.get(span.start as usize..span.end as usize).is_some() })
            );
        }
    }
}
