import { expect, test } from "vitest";
import { conditionFaults } from "./condition.ts";

const scope = { steps: new Set(["request", "my-step", "a"]), components: new Set(["web", "my-db"]) };
const told = (text: string) =>
  conditionFaults(text, scope).map(
    ({ message, hint, at }) => `${at}: ${message}${hint === undefined ? "" : ` (${hint})`}`,
  );

test.each([
  "always",
  " always ",
  "true",
  "request.output.responseCode == 200",
  "a.status.phase == failed || !(a.failed)",
  'status["my-step"].failed && status.a.timeout',
  'status.web.succeeded && status["my-db"].failed',
  'inputs["x.y"] != _|_',
  "context.readonly == true && len(parameter.list) > 2 - 1",
  'steps["my-step"].output.code =~ "^2"',
  '"\\(context.name)-x" == "a-x"',
  "context.a-1 == 2",
  "[for x in inputs.list if x > 1 {x}][0] == 2",
  '#"raw "quoted" text"# == context.name',
  "parameter.count >= 0 && parameter.count <= -1 // why not",
])("accepts %s", (text) => {
  expect(told(text)).toEqual([]);
});

test.each([
  [
    "status.my-step.failed",
    ['7: "my-step" is not an identifier: CUE reads "-" as minus (write status["my-step"].failed)'],
  ],
  ["my-step.failed", ['0: "my-step" is not an identifier: CUE reads "-" as minus (write steps["my-step"].failed)']],
  [
    "status.no-step.failed == true",
    ['7: "no-step" is not an identifier: CUE reads "-" as minus (write status["no-step"].failed)'],
  ],
  [
    '"yes"',
    [
      "0: expected a condition that is true or false, found a string (write a CUE condition such as status.build.succeeded, or always)",
    ],
  ],
  ["a ==", ['4: expected a value after "=="']],
  ["a == && true", ['5: expected a value after "==", found "&&"']],
  ["&& a", ['0: expected a value before "&&"']],
  ["(a.failed", ['0: "(" is never closed']],
  ["a.failed)", ['8: unexpected ")"']],
  ['a.name == "x', ["10: the string has no closing quote"]],
  ["a.failed and request.failed", ['9: expected an operator before "and" (write && for and)']],
  ["a.x = 1", ['4: unexpected "=" (write ==)']],
  ["requst.output.responseCode == 200", ['0: unknown name "requst" (did you mean "request"?)']],
  ["status.requst.failed", ['7: unknown step "requst" (did you mean "request"?)']],
  ['steps["my-stp"].failed', ['6: unknown step "my-stp" (did you mean "my-step"?)']],
  ["  ", ["0: expected a condition, found nothing"]],
  ["a.failed ; true", ['9: unexpected ";"']],
])("bad input: the condition %s is refused with position and hint", (text, expected) => {
  expect(told(text)).toEqual(expected);
});
