import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { writeYaml, writeYamlDocuments } from "./index.ts";

test("a Kubernetes object is written as kubectl prints it", () => {
  const pod: JsonValue = {
    kind: "Pod",
    apiVersion: "v1",
    metadata: { name: "one", labels: {}, annotations: { on: "yes", port: "80", note: "it's: here" } },
    spec: {
      containers: [{ name: "c", command: ["sh", "-c", "echo a\necho b\n"], ports: [{ containerPort: 80 }] }],
      tolerations: [],
      weight: 1.5,
      nothing: null,
    },
  };
  expect(writeYaml(pod)).toBe(`apiVersion: v1
kind: Pod
metadata:
  annotations:
    note: 'it''s: here'
    "on": "yes"
    port: "80"
  labels: {}
  name: one
spec:
  containers:
  - command:
    - sh
    - -c
    - |
      echo a
      echo b
    name: c
    ports:
    - containerPort: 80
  nothing: null
  tolerations: []
  weight: 1.5
`);
});

test.each<readonly [JsonValue, string]>([
  ["true", '"true"'],
  ["0755", '"0755"'],
  // What other readers of YAML 1.1 make numbers and times of, as kubectl quotes it.
  ["1:30", '"1:30"'],
  ["2026-11-22", '"2026-11-22"'],
  ["2026-11-22T12:14:49Z", '"2026-11-22T12:14:49Z"'],
  ["12:99", "12:99"],
  ["2026-11-22-a", "2026-11-22-a"],
  ["a: b", "'a: b'"],
  ["- a", "'- a'"],
  ["-c", "-c"],
  ["*", "'*'"],
  ["a\u0001", '"a\\u0001"'],
  ["a\u2028b", '"a\\u2028b"'],
  ["a\nb", "|-\n  a\n  b"],
  ["a\n\n", "|+\n  a\n"],
  [" a\nb", '" a\\nb"'],
  ["http://host:80/?a=b#c", "http://host:80/?a=b#c"],
  [[], "[]"],
  [{ a: undefined }, "{}"],
  [null, "null"],
  [-1.5, "-1.5"],
])("%j is written as %s", (value, text) => {
  expect(writeYaml(value)).toBe(`${text}\n`);
});

test("lists of lists and objects line up", () => {
  expect(writeYaml([[1, [2]], { b: [3], a: { c: 4 } }])).toBe("- - 1\n  - - 2\n- a:\n    c: 4\n  b:\n  - 3\n");
});

test("the order of keys can be kept", () => {
  expect(writeYaml({ b: 1, a: { d: 2, c: 3 } }, { keys: "given" })).toBe("b: 1\na:\n  d: 2\n  c: 3\n");
});

test("documents are separated by a marker", () => {
  expect(writeYamlDocuments([{ a: 1 }, [2]])).toBe("a: 1\n---\n- 2\n");
});
