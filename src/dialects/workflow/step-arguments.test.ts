import { expect, test } from "vitest";
import { formatProblem } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { documents } from "./document.ts";

const head = (kind: string, name: string) =>
  `apiVersion: slipway.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}}\n`;
const build = `${head("WorkflowTemplate", "build")}spec:
  activeDeadlineSeconds: 9
  params: [{name: ref, required: true}, {name: jobs, type: integer, default: 2, maximum: 4}]
  steps: {a: {wait: {seconds: 1}}}
`;
const bare = `${head("WorkflowTemplate", "bare")}spec: {activeDeadlineSeconds: 9, steps: {a: {wait: {seconds: 1}}}}\n`;
const run = (steps: string) => `${head("Workflow", "w")}spec:\n  activeDeadlineSeconds: 9\n  steps:\n    ${steps}\n`;

const sources = (...texts: readonly string[]) => {
  const read = readYaml(texts.join("---\n"), { file: "w.yaml" });
  if (!read.ok) throw new Error("the test's document is no YAML");
  return read.value.documents;
};

/** What admission refuses as well. */
const alone = (text: string) => sources(text).flatMap((source) => documents.read(source).problems.map(formatProblem));

function together(...texts: readonly string[]): readonly string[] {
  const checked = sources(...texts).map((source) => {
    const { object, problems } = documents.read(source);
    if (object === undefined) throw new Error(problems.map(formatProblem).join("\n"));
    return { source, object };
  });
  return documents.lintTogether(checked).flat().map(formatProblem);
}

test("arguments of a child that is written in place are checked with the document; what expressions give is left to the run", () => {
  const child = (given: string) =>
    run(
      `s: {workflow: {spec: {params: [{name: ref, required: true}, {name: jobs, type: integer}], steps: {a: {wait: {seconds: 1}}}}${given}}}`,
    );
  expect(alone(child(""))).toEqual([
    'w.yaml:7:19: error: spec.steps.s.workflow.arguments.ref: the parameter "ref" is required',
  ]);
  expect(alone(child(", arguments: {ref: 7, jobs: many, tag: x}"))).toEqual([
    expect.stringContaining("arguments.ref: expected a string, found 7"),
    expect.stringContaining('arguments.jobs: expected an integer, found "many"'),
    expect.stringContaining('arguments.tag: no parameter "tag" is declared'),
  ]);
  expect(alone(child(", arguments: {ref: main, jobs: '${{ 1 + 1 }}'}"))).toEqual([]);
});

test("a secret parameter is given for a secret one only, to a template among the documents as well", () => {
  const vault = `${head("WorkflowTemplate", "vault")}spec:
  activeDeadlineSeconds: 9
  params: [{name: token, secret: true}, {name: ref, default: x}]
  steps: {a: {wait: {seconds: 1}}}
`;
  const parent = (given: string) => `${head("Workflow", "w")}spec:
  activeDeadlineSeconds: 9
  params: [{name: key, secret: true}]
  arguments: {key: {secretKeyRef: {name: a, key: b}}}
  steps: {s: {workflow: {templateRef: {name: vault}, arguments: ${given}}}}
`;
  expect(together(vault, parent('{token: "${{ params.key }}"}'))).toEqual([]);
  expect(together(vault, parent("{token: {secretKeyRef: {name: c, key: d}}}"))).toEqual([]);
  expect(together(vault, parent('{token: "${{ params.key }}", ref: "${{ params.key }}"}'))).toEqual([
    expect.stringContaining('arguments.ref: "key" is secret, and the parameter "ref" that it is given for is not'),
  ]);
  expect(together(vault, parent("{token: hunter22}"))).toEqual([
    expect.stringMatching(/arguments\.token: expected a key of a Secret(?!.*hunter22)/),
  ]);
  const schedule = `${head("ScheduledWorkflow", "nightly")}spec:
  schedule: "@daily"
  workflowTemplate: {spec: {templateRef: {name: vault}, arguments: {token: hunter22}}}
`;
  expect(together(vault, schedule)).toEqual([
    expect.stringMatching(/spec\.workflowTemplate\.spec\.arguments\.token: expected a key of a Secret(?!.*hunter22)/),
  ]);
});

test("parameters that are wrong themselves are told, and nothing of their arguments", () => {
  const child = "{spec: {params: [{name: 7}, {name: ref}], steps: {a: {wait: {seconds: 1}}}}, arguments: {ref: 7}}";
  expect(alone(run(`s: {workflow: ${child}}`))).toEqual([
    expect.stringContaining("spec.steps.s.workflow.spec.params[0].name"),
  ]);
});

test("arguments for a template among the documents are checked at every place that can give them", () => {
  const use = "workflow: {templateRef: {name: build}, arguments: {jobs: 9, tag: x}}";
  const wrong = (at: string) => [
    expect.stringContaining(`error: ${at}.ref: the parameter "ref" is required`),
    expect.stringContaining(`error: ${at}.jobs: expected at most 4, found 9`),
    expect.stringContaining(`error: ${at}.tag: no parameter "tag" is declared`),
  ];
  const at = "spec.steps.s.workflow";
  expect(together(build, run(`s: {${use}}`))).toEqual(wrong(`${at}.arguments`));
  expect(together(build, run(`s: {workflow: {spec: {steps: {t: {${use}}}}}}`))).toEqual(
    wrong(`${at}.spec.steps.t.workflow.arguments`),
  );
  const template = `${head("WorkflowTemplate", "t")}spec: {activeDeadlineSeconds: 9, steps: {s: {${use}}}}\n`;
  expect(together(build, template)).toEqual(wrong(`${at}.arguments`));
  const schedule = (spec: string) =>
    `${head("ScheduledWorkflow", "nightly")}spec: {schedule: "@daily", workflowTemplate: {spec: ${spec}}}\n`;
  const within = "spec.workflowTemplate.spec";
  expect(together(build, schedule(`{steps: {s: {${use}}}}`))).toEqual(wrong(`${within}.steps.s.workflow.arguments`));
  expect(together(build, schedule("{templateRef: {name: build}, arguments: {jobs: 9, tag: x}}"))).toEqual(
    wrong(`${within}.arguments`),
  );
});

test.each([
  ["a template that is not there", [run("s: {workflow: {templateRef: {name: other}, arguments: {x: 1}}}"), build]],
  [
    "one of another namespace",
    [build.replace("name: build}", "name: build, namespace: x}"), run("s: {workflow: {templateRef: {name: build}}}")],
  ],
  ["what fits", [build, run("s: {workflow: {templateRef: {name: build}, arguments: {ref: main, jobs: 4}}}")]],
  [
    "values of expressions",
    [build, run("s: {workflow: {templateRef: {name: build}, arguments: {ref: 'v${{ 1 }}', jobs: '${{ 9 }}'}}}")],
  ],
])("nothing is said of %s", (_what, texts) => {
  expect(together(...texts)).toEqual([]);
});

test("a template without parameters takes no arguments", () => {
  expect(together(bare, run("s: {workflow: {templateRef: {name: bare}, arguments: {x: 1}}}"))).toEqual([
    expect.stringContaining('spec.steps.s.workflow.arguments.x: no parameter "x" is declared'),
  ]);
});
