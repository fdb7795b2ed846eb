import { expect, test } from "vitest";
import { codesOf, fileVariables, prepared, told } from "#dialects/wharf/testing/prepared.ts";

// The rows of the table "Bad input" of the specification of Wharf that are about documents, in its order. What is about files is in
// world/definition-file.test.ts.

const step = "{container: {image: x, cmds: [y]}}";
const bytesOf = (...bytes: readonly number[]) => Uint8Array.from(bytes);

test("tab indentation, unclosed flow, invalid UTF-8: one error, and nothing else is read", () => {
  expect(codesOf("a:\n\tb: {}\nc: {}\n")).toEqual(["2:1 yaml-syntax"]);
  expect(codesOf("a: {b: 1\nc: [\n")).toHaveLength(1);
  expect(codesOf("a: {b: 1\nc: [\n")[0]).toMatch(/yaml-syntax$/);
  expect(codesOf("", { bytes: bytesOf(0x61, 0x3a, 0x0a, 0x20, 0xff, 0xfe) })).toEqual(["2:2 yaml-syntax"]);
});

test("an empty file, one of comments only, and two documents", () => {
  expect(codesOf("")).toEqual(["- doc-empty"]);
  expect(codesOf("# nothing\n")).toEqual(["- doc-empty"]);
  expect(codesOf(`a: {b: ${step}}\n---\nc: {d: ${step}}\n`)).toEqual(["3:1 doc-count"]);
});

test("what must be a map and is none", () => {
  expect(codesOf("- a\n")).toEqual(["1:1 type"]);
  expect(codesOf("word\n")).toEqual(["1:1 type"]);
  expect(codesOf(`a: [1]\nb: {c: 1}\nd: {e: {container: x}}\nf: {g: ${step}}\n`)).toEqual([
    "1:4 type",
    "2:8 type",
    "3:20 type",
  ]);
});

test("keys that are no texts, or empty: everything else is read", () => {
  expect(codesOf(`1: {}\n'': {}\n[x]: {}\na: {true: ${step}, b: {kubectl: {}}}\n`)).toEqual([
    "1:1 key-type",
    "2:1 key-empty",
    "3:1 key-type",
    "4:5 key-type",
    "4:51 field-required",
  ]);
});

test("a stage without steps", () => {
  expect(codesOf("a: {}\nb: {environments: []}\nc: {runs-if: always}\n")).toEqual([
    "1:1 stage-empty",
    "2:1 stage-empty",
    "3:1 stage-empty",
  ]);
});

test("a step without a type, with two, and with one that nobody knows", () => {
  const { diagnostics } = prepared("a:\n  b: {}\n  c: {kubectl: {}, container: {}}\n  d: {contianer: {}}\n");
  expect(told(diagnostics).map((line) => line.replace(/ [^ ]*: .*/, ""))).toEqual([
    "2:3 error[step-empty]",
    "3:3 error[step-multi]",
    "3:7 error[field-required]",
    "3:20 error[field-required]",
    "3:20 error[field-required]",
    "4:7 error[step-type-unknown]",
  ]);
  expect(diagnostics.at(-1)?.hint).toBe('did you mean "container"?');
});

test("inputs and environments that are null are empty", () => {
  expect(codesOf(`inputs:\nenvironments:\na: {b: ${step}}\n`)).toEqual(["1:1 type (warning)", "2:1 type (warning)"]);
});

test("input instead of inputs", () => {
  const { diagnostics } = prepared(`input: [{name: a, type: string}]\na: {b: ${step}}\n`);
  expect(diagnostics).toMatchObject([
    { code: "type", position: { line: 1, column: 8 }, hint: 'did you mean "inputs"?' },
  ]);
});

test("literals of another type", () => {
  expect(codesOf("a: {b: {container: {image: 1.10, cmds: [true]}}}\n")).toEqual(["1:28 type", "1:41 type"]);
  expect(codesOf("a: {b: {container: {image: x, cmds: x}}}\n")).toEqual(["1:37 type"]);
});

test("yes is no boolean", () => {
  const { diagnostics } = prepared("a: {b: {docker: {file: x, tag: y, destination: z, push: yes}}}\n");
  expect(diagnostics).toMatchObject([{ code: "type", position: { line: 1, column: 57 }, hint: "use true" }]);
});

test("environments that nobody has declared, in a file and selected", () => {
  const text = `environments: {prod: {}}\na: {environments: [prod, dev, ''], b: ${step}}\n`;
  expect(codesOf(text)).toEqual(["2:26 env-undefined", "2:31 env-name-empty"]);
  expect(codesOf(`environments: {prod: {}}\na: {b: ${step}}\n`, { environment: "nope" })).toEqual([
    "1:1 env-undefined",
  ]);
});

test("conditions", () => {
  expect(codesOf(`a: {runs-if: sometimes, b: ${step}}\n`)).toEqual(["1:14 run-condition"]);
  expect(codesOf(`a: {runs-if: true, b: ${step}}\n`)).toEqual(["1:14 type"]);
  expect(codesOf(`a: {runs-if: fail, run-if: fail, b: ${step}}\n`)).toEqual(["1:20 run-condition"]);
  expect(prepared(`a: {run-if: ALWAYS, b: ${step}}\n`)).toMatchObject({
    diagnostics: [],
    definition: { stages: [{ runsIf: "always", steps: [{ name: "b" }] }] },
  });
  expect(prepared(`a: {run-if: ${step}}\n`)).toMatchObject({
    diagnostics: [],
    definition: { stages: [{ runsIf: "success", steps: [{ name: "run-if" }] }] },
  });
});

test("variables in a circle, where they are used", () => {
  const loop = fileVariables({ a: "${b}", b: "${a}" });
  const text = (image: string) => `s: {t: {container: {image: '${image}', cmds: [y]}}}\n`;
  expect(told(prepared(text("${a}"), { surroundings: loop }).diagnostics)).toEqual([
    "1:28 error[var-loop] s/t/container/image: the variable contains itself: a -> b -> a",
  ]);
  expect(codesOf(text("x"), { surroundings: loop })).toEqual([]);
});

test("an anchor inside itself, aliases that multiply, and five megabytes", () => {
  expect(codesOf("a: &x {b: *x}\n")).toEqual(["1:11 alias-cycle"]);
  const bomb = ["a0: &a0 [x]"];
  for (let n = 1; n < 30; n++)
    bomb.push(
      `a${n}: &a${n} [${Array(10)
        .fill(`*a${n - 1}`)
        .join(", ")}]`,
    );
  expect(codesOf(bomb.join("\n")).map((line) => line.replace(/.* /, ""))).toEqual(["alias-bomb"]);
  expect(codesOf(`#${"x".repeat(5 * 1024 * 1024)}`)).toEqual(["- too-large"]);
});

test("values of inputs that do not fit", () => {
  const text = `inputs:\n  - {name: n, type: number}\n  - {name: c, type: choice, values: [a, b], default: a}\na: {b: ${step}}\n`;
  const inputs = new Map([
    ["n", "abc"],
    ["c", "z"],
    ["x", "y"],
  ]);
  expect(codesOf(text, { inputs })).toEqual(["- input-undefined", "- input-value", "- choice-value"]);
  expect(codesOf(text.replace("default: a", "default: z").replace("number}", "number, default: abc}"))).toEqual([
    "2:38 input-value",
    "3:54 choice-value",
  ]);
});

test("a secret of a project that is not known", () => {
  expect(codesOf("a: {b: {container: {image: x, cmds: [y], secretName: s}}}\n")).toEqual(["1:54 var-missing"]);
});

test("two steps that are named alike once their names are substituted", () => {
  const { diagnostics } = prepared(`a:\n  one: ${step}\n  "\${n}": ${step}\n`, {
    surroundings: fileVariables({ n: "one" }),
  });
  expect(diagnostics).toMatchObject([
    { code: "key-duplicate", position: { line: 3, column: 3 }, related: [{ place: { line: 2, column: 3 } }] },
  ]);
});

test("paths out of the project", () => {
  expect(
    codesOf("a: {b: {kubectl: {file: ../x.yaml, files: [a/../../b, /etc/x, a/../b, '-', 'https://h/x']}}}\n"),
  ).toEqual(["1:25 path-escape", "1:44 path-escape", "1:55 path-escape"]);
});
