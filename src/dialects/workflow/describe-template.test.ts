import { expect, test } from "vitest";
import { describeTemplate } from "./describe-template.ts";
import type { WorkflowTemplate } from "./kinds.ts";

const template: WorkflowTemplate = {
  apiVersion: "slipway.dev/v1alpha1",
  kind: "WorkflowTemplate",
  metadata: { name: "site", namespace: "edge" },
  spec: {
    activeDeadlineSeconds: 600,
    params: [
      { name: "machine", required: true, pattern: "^[a-z]+$", description: "Which machine." },
      { name: "size", type: "integer", default: 3, minimum: 1, maximum: 9 },
      { name: "kind", enum: ["edge", "core"], default: "" },
      { name: "notes", type: "array" },
      { name: "token", secret: true, description: "Of the registry." },
    ],
    outputs: { url: "steps.deploy.outputs.url" },
    steps: {
      smoke: { dependencies: ["deploy"], forEach: { items: [1, 2], maxParallel: 1 }, container: { image: "busybox" } },
      deploy: {
        dependencies: ["ask", "net"],
        operation: "Apply",
        template: { apiVersion: "core.oam.dev/v1beta1", kind: "Application", metadata: { name: "shop" } },
        outputs: { url: {} },
      },
      ask: { approval: { message: "Deploy?" }, when: "params.size > 1" },
      net: { externalRef: { apiVersion: "v1", kind: "ConfigMap", name: "net" } },
      pause: { wait: { seconds: 5 } },
      child: { workflow: { templateRef: { name: "other" } } },
    },
    finally: { report: { container: { image: "curl" } } },
  },
};

test("a template is told with its params and its steps in the order in which they can run", () => {
  expect(describeTemplate(template)).toBe(`Name:        site
Namespace:   edge
Deadline:    600s
On failure:  Continue
Outputs:     url

PARAM    TYPE     DEFAULT     ALLOWED           DESCRIPTION
machine  string   (required)  matches ^[a-z]+$  Which machine.
size     integer  3           from 1 to 9
kind     string   ""          edge | core
notes    array    -           -
token    secret   (required)  -                 Of the registry.

STEP    TYPE         DEPENDENCIES  WHAT
ask     approval     -             Deploy?; when params.size > 1
child   workflow     -             other
net     externalRef  -             ConfigMap/net
deploy  template     ask, net      applies Application/shop
pause   wait         -             5s
smoke   container    deploy        busybox; for each of 2 items, 1 at once
FINALLY
report  container    -             curl
`);
});

test("a template without params and without a deadline says so", () => {
  const { metadata } = template;
  const text = describeTemplate({ ...template, metadata, spec: { steps: { a: { container: { image: "i" } } } } });
  expect(text).toContain("Params:     none\n");
  expect(text).toMatch(/^Deadline: +-$/m);
});
