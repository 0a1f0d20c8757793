"""A first result: did the agent look the order up and refund the right amount?"""

from callmatch.metrics import ToolCallTrajectory

metric = ToolCallTrajectory(match="in_order", arguments="partial")

result = metric.evaluate(
    tool_calls=[
        {"name": "lookup_order", "arguments": {"order_id": 42}},
        {"name": "issue_refund", "arguments": {"order_id": 42, "amount": 125.0}},
    ],
    expectations={
        "tool_calls": [
            {"name": "lookup_order", "arguments": {"order_id": 42}},
            {"name": "issue_refund", "arguments": {"amount": 12.5}},
        ]
    },
)
print(result.verdict, result.score)
print(result.reason)
print("precision", result.details["precision"], "recall", result.details["recall"])

# The same for every record of a file, a part at a time.
for scores in metric.evaluate_file("examples/runs.jsonl"):
    print(scores.summary())
    for id_, verdict, reason in zip(scores.id, scores.verdict, scores.reason, strict=True):
        print(f"{id_}: {verdict}: {reason}")
