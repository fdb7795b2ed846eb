import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { codesOf, fileVariables, prepared } from "#dialects/wharf/testing/prepared.ts";
import { excerptOf, formatDiagnostic } from "#dialects/wharf/definition/diagnostics.ts";

const step = "{container: {image: x, cmds: [y]}}";

/** A definition for every code, with the line and the column where it is told. Those that need a world are left to its tests. */
const producers: Readonly<
  Record<string, readonly [text: string, place: string, more?: Parameters<typeof prepared>[1]]>
> = {
  "yaml-syntax": ["a: {\n  b: *none\n}\n", "2:6"],
  "doc-empty": ["", "-"],
  "doc-count": [`a: {b: ${step}}\n---\na: {b: ${step}}\n`, "3:1"],
  "too-large": [" ".repeat(2 ** 20 + 1), "-"],
  "alias-cycle": ["a:\n  b: &x [*x]\n", "2:10"],
  "alias-bomb": ["[".repeat(200), "1:101"],
  type: ["a:\n  b: {container: {image: 1, cmds: [y]}}\n", "2:26"],
  "key-type": [`a:\n  1: ${step}\n  b: ${step}\n`, "2:3"],
  "key-empty": [`a:\n  "": ${step}\n  b: ${step}\n`, "2:3"],
  "key-duplicate": [`a:\n  b: ${step}\n  b: ${step}\n`, "3:3"],
  "stage-empty": ["\na: {}\n", "2:1"],
  "step-empty": ["a:\n  b: {}\n", "2:3"],
  "step-multi": ["a:\n  b: {container: {image: x, cmds: [y]}, kubectl: {file: x}}\n", "2:3"],
  "step-type-unknown": ["a:\n  b: {bash: {}}\n", "2:7"],
  "field-required": ["a:\n  b: {container: {image: '', cmds: [y]}}\n", "2:26"],
  "env-undefined": [`a:\n  environments: [x]\n  b: ${step}\n`, "2:18"],
  "env-name-empty": [`a:\n  environments: ['']\n  b: ${step}\n`, "2:18"],
  "input-type-unknown": [`inputs:\n  - {name: a, type: text}\na: {b: ${step}}\n`, "2:21"],
  "input-duplicate": [`inputs:\n  - {name: a, type: string}\n  - {name: a, type: string}\na: {b: ${step}}\n`, "3:5"],
  "input-undefined": [`a: {b: ${step}}\n`, "-", { inputs: new Map([["x", "y"]]) }],
  "input-value": [`inputs: [{name: a, type: number, default: b}]\na: {b: ${step}}\n`, "1:43"],
  "choice-value": [`inputs: [{name: a, type: choice, values: [x], default: b}]\na: {b: ${step}}\n`, "1:56"],
  "run-condition": [`a:\n  runs-if: never\n  b: ${step}\n`, "2:12"],
  "var-loop": ["a: {b: {kubectl: {file: '${x}'}}}\n", "1:25", { surroundings: fileVariables({ x: "${x}" }) }],
  "var-missing": ["a: {b: {docker: {file: x, tag: y, registry: r, group: g}}}\n", "1:9"],
  "var-unknown": ["a: {b: {kubectl: {file: '${x}'}}}\n", "1:25", { isStrict: true }],
  "secret-arg": ["a: {b: {docker: {file: x, tag: y, destination: z, secretArgs: [A=b]}}}\n", "1:63"],
  "no-tags": ["a: {b: {docker: {file: x, tag: ' , ', destination: z}}}\n", "1:32"],
  "path-escape": ["a: {b: {kubectl: {file: ../x}}}\n", "1:25"],
  "stage-undefined": [`a: {b: ${step}}\n`, "-", { stages: ["z"] }],
  "field-unknown": ["a: {b: {kubectl: {file: x, fil: y}}}\n", "1:28"],
  "doc-extra": [`a: {b: ${step}}\n---\n`, "2:1"],
  "scheme-stripped": ["a: {b: {docker: {file: x, tag: y, destination: 'http://z'}}}\n", "1:48"],
  "deprecated-key": ["a: {b: {nuget-package: {version: x, project-path: y, repo: z, skip_duplicate: true}}}\n", "1:63"],
};

test.each(Object.entries(producers))("%s is told at its place", (code, [text, place, more]) => {
  expect(codesOf(text, more).map((line) => line.replace(" (warning)", ""))).toEqual([`${place} ${code}`]);
});

test("every code of the reference that a definition can have is here", () => {
  const page = readFileSync(new URL("../../../docs/reference/problems.md", import.meta.url), "utf8");
  const section = /\n## Definitions of Wharf\n(.*?)(?:\n## |$)/s.exec(page)?.[1] ?? "";
  const listed = [...section.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, code = ""]) => code);
  const shared = [
    "yaml-syntax",
    "too-large",
    "no-git",
    "image-ignored",
    "image-missing",
    "runtime-unsupported",
    "file-unreadable",
    "foreign-file",
  ];
  expect(
    Object.keys(producers)
      .filter((code) => !shared.includes(code))
      .sort(),
  ).toEqual(listed.filter((code) => !shared.includes(code)).sort());
});

const mistakes = `inputs:
  - {name: v, type: sting}
environments: {prod: {a: [1]}}
build:
  environments: [dev]
  runs-if: maybe
  web:
    docker: {file: 1, tag: ",", destination: x, push: on}
  api: {}
test:
  unit: {container: {image: x}}
`;

test("nine mistakes are nine problems, in the order of the file", () => {
  expect(codesOf(mistakes)).toEqual([
    "2:21 input-type-unknown",
    "3:26 type",
    "5:18 env-undefined",
    "6:12 run-condition",
    "8:20 type",
    "8:28 no-tags",
    "8:55 type",
    "9:3 step-empty",
    "11:10 field-required",
  ]);
});

test("a problem is printed with place, code, scope and hint, what it has to do with, and the line it is in", () => {
  const text = `environments:\n  e: {t: [1], x: 12}\na:\n  b:\n    container: {image: '\${x}y', cmds: ['\${x}'], os: '\${x}'}\n`;
  const { diagnostics } = prepared(text, { environment: "e" });
  expect(diagnostics.map((problem) => formatDiagnostic(problem, ".wharf-ci.yml"))).toEqual([
    ".wharf-ci.yml:2:10: error: environments/e/t: expected text, number or boolean, found list",
    '.wharf-ci.yml:5:53: error: a/b/container/os: expected linux or windows, found "12"\n  .wharf-ci.yml:2:18: the variable "x" is defined here',
  ]);
  const [first] = diagnostics;
  expect(first && excerptOf(first, text)).toBe("  2 |   e: {t: [1], x: 12}\n    |          ^");
});

test("problems beyond the thousandth are counted", () => {
  const stages = Array.from({ length: 1_200 }, (_, n) => `s${n}: {}`).join("\n");
  const { diagnostics } = prepared(stages);
  expect(diagnostics).toHaveLength(1_001);
  expect(diagnostics.at(-1)).toMatchObject({ code: "more-problems", message: "200 more problems are not shown" });
});

test("variables are taken as they can be read: numbers in tags, words as booleans", () => {
  const text = "a: {b: {docker: {file: x, tag: '${BUILD_REF}', destination: z, push: '${P}', append-cert: '${C}'}}}\n";
  const { plan, diagnostics } = prepared(text, { buildId: 12, surroundings: fileVariables({ P: "false", C: "Yes" }) });
  expect(diagnostics).toEqual([]);
  expect(plan?.stages[0]?.steps[0]?.args).toEqual(expect.arrayContaining(["z:12", "--no-push"]));
  expect(plan?.stages[0]?.steps[0]?.repo.overlay).toHaveLength(1);
});
