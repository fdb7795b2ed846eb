import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cue, createCue, type TemplateHost } from "#kernel/template/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { conditionFaults } from "./condition.ts";

let host: TemplateHost;
let cue: Cue;
beforeAll(async () => {
  host = await realHost();
  cue = createCue({ templates: host, packages: {}, budgetMs: 20_000 });
}, 60_000);
afterAll(() => host.close());

const scope = { steps: new Set(["request", "my-step", "a"]), components: new Set(["web", "my-db"]) };
const told = async (text: string) =>
  (await conditionFaults(text, scope, cue)).map(
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
])("accepts %s", async (text) => {
  expect(await told(text)).toEqual([]);
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
  ["a ==", ["4: expected operand, found 'EOF'"]],
  ["a == && true", ["5: expected operand, found '&&'"]],
  ["&& a", ["0: expected operand, found '&&'"]],
  ["(a.failed", ["9: expected ')', found newline"]],
  ["a.failed)", ["8: expected 'EOF', found ')'"]],
  ['a.name == "x', ["10: string literal not terminated"]],
  ["a.failed and request.failed", ["9: expected 'EOF', found 'IDENT' and (write && for and)"]],
  ["a.x = 1", ["4: expected 'EOF', found '=' (write ==)"]],
  ["requst.output.responseCode == 200", ['0: unknown name "requst" (did you mean "request"?)']],
  ["status.requst.failed", ['7: unknown step "requst" (did you mean "request"?)']],
  ['steps["my-stp"].failed', ['6: unknown step "my-stp" (did you mean "my-step"?)']],
  ["  ", ["0: expected a condition, found nothing"]],
  ["a.failed ; true", ["9: expected 'EOF', found ';'"]],
])("bad input: the condition %s is refused with position and hint", async (text, expected) => {
  expect(await told(text)).toEqual(expected);
});
