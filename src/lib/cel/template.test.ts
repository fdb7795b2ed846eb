import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { type CelEnvironment, type CelTemplate, compileTemplate } from "./index.ts";
import { parseTemplate } from "./template-parser.ts";

const environment: CelEnvironment = {
  variables: { params: "map<string, dyn>", steps: "map<string, dyn>", item: "dyn" },
};

function compile(document: JsonValue): CelTemplate {
  const template = compileTemplate(document, environment);
  if (!template.ok) throw new Error(JSON.stringify(template.error));
  return template.value;
}
const render = (document: JsonValue, bindings: JsonObject): JsonValue => {
  const result = compile(document).evaluate(bindings);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

const params = { tag: "v1", count: 3, ratio: 1.5, on: true, none: null, list: [1, "a"], map: { b: 1, a: 2 } };

test.each<readonly [string, JsonValue]>([
  ["plain", "plain"],
  ["", ""],
  ["${{ params.tag }}", "v1"],
  ["${{params.count}}", 3],
  ["${{ params.count + 1 }}", 4],
  ["${{ params.ratio }}", 1.5],
  ["${{ params.on }}", true],
  ["${{ params.none }}", null],
  ["${{ params.list }}", [1, "a"]],
  ["${{ params.map }}", { a: 2, b: 1 }],
  [" ${{ params.count }}", " 3"],
  ["image:${{ params.tag }}-${{ params.count }}", "image:v1-3"],
  ["[${{ params.none }}]", "[]"],
  ["x${{ params.list }}", 'x[1,"a"]'],
  ["x${{ params.map }}", 'x{"a":2,"b":1}'],
  ["$${{ params.tag }}", "${{ params.tag }}"],
  ["$$${{ params.tag }}", "$${{ params.tag }}"],
  ["a $${{ b }} ${{ params.tag }}", "a ${{ b }} v1"],
  ["$(HOME) ${HOME} {{ .Values.x }} $$(X) $ {{", "$(HOME) ${HOME} {{ .Values.x }} $$(X) $ {{"],
  ["${{ {'a': {'b': 1}} }}", { a: { b: 1 } }],
  ["${{ {'a': {}}}}", { a: {} }],
  ["${{ '}}' + \"}}\" }}", "}}}}"],
  ["${{ '{' }}", "{"],
  ["${{ 'it\\'s }}' }}", "it's }}"],
  ["${{ r'\\d' + '}}' }}", "\\d}}"],
  ["${{ '''}} ' ''' }}", "}} ' "],
  ["${{ 1 // }}\n + 1 }}", 2],
  ["${{ params.tag }}}}", "v1}}"],
  ["${{ '${{ params.tag }}' }}", "${{ params.tag }}"],
])("%j renders as %j", (text, value) => {
  expect(render(text, { params })).toEqual(value);
});

test("results are not scanned again", () => {
  expect(render("${{ params.evil }} x${{ params.evil }}", { params: { evil: "${{ params.tag }}" } })).toBe(
    "${{ params.tag }} x${{ params.tag }}",
  );
});

test("a whole document is rendered, and what has no expressions is shared", () => {
  const document = {
    spec: {
      containers: [{ image: "app:${{ params.tag }}", args: ["a", "${{ params.count }}"] }],
      same: { deep: [1, 2] },
    },
    "${{ key }}": 1,
  };
  const rendered = render(document, { params });
  expect(rendered).toEqual({
    spec: { containers: [{ image: "app:v1", args: ["a", 3] }], same: { deep: [1, 2] } },
    "${{ key }}": 1,
  });
  expect((rendered as typeof document).spec.same).toBe(document.spec.same);
  expect(render(document.spec.same, {})).toBe(document.spec.same);
});

test("keys that name inherited members stay", () => {
  const document: JsonValue = JSON.parse('{"__proto__": "${{ params.tag }}", "constructor": 1}');
  expect(JSON.stringify(render(document, { params }))).toBe('{"__proto__":"v1","constructor":1}');
});

test("every expression is known with its path and references", () => {
  const template = compile({ a: ["x ${{ steps.build.outputs.tag }} ${{ params.tag }}"], b: "${{ item }}" });
  expect(
    template.expressions.map(({ path, source, references }) => [
      path,
      source,
      references.variables.map((use) => [use.root, ...use.path].join(".")),
    ]),
  ).toEqual([
    [["a", 0], " steps.build.outputs.tag ", ["steps.build.outputs.tag"]],
    [["a", 0], " params.tag ", ["params.tag"]],
    [["b"], " item ", ["item"]],
  ]);
});

test("all wrong expressions are reported at once, with their places in their strings", () => {
  const template = compileTemplate(
    { a: "x ${{ parms.tag }} ${{ 1 + }}", b: ["line\n  ${{ nope }}", "${{ never closed }"], c: "${{}}" },
    environment,
  );
  expect(template).toEqual({
    ok: false,
    error: [
      {
        path: ["a"],
        kind: "unknown-variable",
        message: 'there is no variable "parms"; did you mean "params"?',
        line: 1,
        column: 7,
      },
      { path: ["a"], kind: "syntax", message: "unexpected token: EOF", line: 1, column: 28 },
      { path: ["b", 0], kind: "unknown-variable", message: 'there is no variable "nope"', line: 2, column: 7 },
      { path: ["b", 1], kind: "syntax", message: '"${{" is not closed by "}}"', line: 1, column: 1 },
      { path: ["c"], kind: "syntax", message: "unexpected token: EOF", line: 1, column: 4 },
    ],
  });
});

test("all failures of an evaluation are reported at once", () => {
  const result = compile({ a: "${{ params.missing }}", b: "x${{ 1 / 0 }}", c: "${{ params.tag }}" }).evaluate({
    params,
  });
  expect(result).toEqual({
    ok: false,
    error: [
      { path: ["a"], message: "params.missing: no such key: missing" },
      { path: ["b"], message: "1 / 0: division by zero" },
    ],
  });
});

test("a string full of openings and quotes is cut in linear time", () => {
  for (const text of ["${{ '", "${{ {", "$${{", "${{ r'\\", '${{ """ ', "${{ // "]) {
    const result = parseTemplate(text.repeat(20_000));
    expect(result.ok || result.error.offset >= 0).toBe(true);
  }
});

test("a string without expressions is one part", () => {
  expect(parseTemplate("a $${{ b }}")).toEqual({ ok: true, value: [{ kind: "text", text: "a ${{ b }}" }] });
});
