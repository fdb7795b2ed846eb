import { expect, test } from "vitest";
import type { WorkflowStep } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { validateWorkflow } from "../validate.ts";

function problems(step: object, more: object = {}): readonly string[] {
  const found = collectProblems();
  const metadata = { name: "wf", namespace: "default" };
  const spec = { steps: { ask: step }, ...more };
  validateWorkflow(
    { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata, spec: JSON.parse(JSON.stringify(spec)) },
    found,
  );
  return found.problems.map(({ path, message }) => `${path}: ${message}`.replace("spec.steps.ask.", ""));
}

const user = (name: string) => ({ kind: "User", name });

test.each<[object]>([
  [{}],
  [
    {
      message: "Deploy ${{ params.tag }}?",
      approvers: [user("anna"), { kind: "Group", name: "release" }],
      minApprovals: 2,
    },
  ],
  [{ timeoutSeconds: 60, onTimeout: "Approve", inputs: [{ name: "tag", required: true, default: "v1" }] }],
])("the approval %j is one", (approval) => {
  expect(problems({ approval }, { params: [{ name: "tag" }] })).toEqual([]);
});

test.each<[object, readonly string[]]>([
  [{ minApprovals: 0 }, ["approval.minApprovals: must be a positive integer, found 0"]],
  [{ timeoutSeconds: 1.5 }, ["approval.timeoutSeconds: must be a positive integer, found 1.5"]],
  [
    { approvers: [{ kind: "Role", name: "x" }] },
    [
      expect.stringMatching(
        /^approval\.approvers\[0\]\.kind: Unsupported value: "Role": supported values: "User", "Group"/,
      ),
    ],
  ],
  [{ approvers: [] }, ["approval.approvers: at least one approver is required; leave the field out for everybody"]],
  [
    { approvers: [user("${{ params.who }}")] },
    ["approval.approvers[0].name: must be a name: approvers are not computed"],
  ],
  [
    { approvers: [user("anna"), user("anna")], minApprovals: 2 },
    ["approval.minApprovals: 2 different users must approve, and only 1 may"],
  ],
  [{ inputs: [{ name: "a" }, { name: "a" }] }, ['approval.inputs[1]: Duplicate value: {"name":"a"}']],
  [
    { inputs: [{ name: "a", type: "integer", default: "x" }, { name: "approvedBy" }] },
    [
      'approval.inputs[0].default: expected an integer, found "x"',
      "approval.inputs[1].name: approvedBy is the list of approvers",
    ],
  ],
  [
    { inputs: [{ name: "a", secret: true }] },
    ["approval.inputs[0].secret: this version does not carry secret inputs of approvals"],
  ],
  [{ onTimeout: "Reject" }, ["approval.onTimeout: means nothing without timeoutSeconds"]],
  [
    { onTimeout: "Approve", timeoutSeconds: 1, inputs: [{ name: "a", required: true }] },
    ["approval.inputs[0].required: it has no value when onTimeout is Approve; give it a default"],
  ],
  [{ message: "${{ params.who }}" }, ['approval.message: column 5: no parameter "who"']],
])("the approval %j is refused", (approval, expected) => {
  expect(problems({ approval })).toEqual(expected);
});

test("fields that mean nothing for a question are refused, what is inherited is passed over", () => {
  const step: WorkflowStep = {
    approval: {},
    forEach: { items: [1] },
    repeat: { until: "true" },
    retry: { limit: 1 },
    completion: "Ready",
    outputs: { a: { default: 1 } },
    timeoutSeconds: 5,
    ownership: "Owned",
  };
  expect(problems(step)).toEqual(
    expect.arrayContaining([
      "forEach: an approval has no child to fan out",
      "repeat: an approval has no child to repeat",
      "completion: an approval has no object to look at",
      "outputs: the outputs of an approval are its inputs and approvedBy",
      "retry: a decision is not tried again",
      "timeoutSeconds: the time to decide is approval.timeoutSeconds",
      "ownership: only a template has an ownership",
    ]),
  );
  expect(problems({ approval: {} }, { stepDefaults: { timeoutSeconds: 5, retry: { limit: 1 } } })).toEqual([]);
});

test("later steps know the outputs of a question by the names of its inputs", () => {
  const approval = { inputs: [{ name: "tag" }] };
  const later = (text: string) => ({
    steps: {
      ask: { approval },
      go: { dependencies: ["ask"], container: { image: "i", args: [`\${{ ${text} }}`] } },
    },
  });
  expect(problems({}, later("steps.ask.outputs.tag + steps.ask.outputs.approvedBy[0]"))).toEqual([]);
  expect(problems({}, later("steps.ask.outputs.tga"))).toEqual([
    'spec.steps.go.container.args[0]: column 5: no output of "ask" "tga", did you mean "tag"',
  ]);
});
