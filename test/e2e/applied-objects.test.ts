import { describe, expect, test } from "vitest";
import { kubectlsUnderTest } from "#test/support/kubectl.ts";
import { kubectlPlace } from "#test/support/kubectl-place.ts";

// A person with kubectl and workflows work on the same objects.

describe.each(kubectlsUnderTest)("%s", (path) => {
  const { kubectl } = kubectlPlace(path);
  const workflow = (name: string, color: string, more: object = {}) => ({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name },
    spec: {
      activeDeadlineSeconds: 60,
      steps: {
        put: {
          operation: "Apply",
          template: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "paint" }, data: { color } },
          ...more,
        },
      },
    },
  });
  const create = (object: object) => kubectl.must(["create", "-f", "-"], { input: JSON.stringify(object) });
  const ended = (name: string, condition: string) =>
    kubectl.must(["wait", `--for=condition=${condition}`, `workflow/${name}`, "--timeout=60s"]);
  const color = () => kubectl.must(["get", "cm", "paint", "-o", "jsonpath={.data.color}"]);
  const step = async (name: string, field: string) =>
    await kubectl.must(["get", "wf", name, "-o", `jsonpath={.status.statuses.put.${field}}`]);

  test("a step applies, gives way to a person, and takes over when it is told to", async () => {
    await create(workflow("first", "red"));
    await ended("first", "Complete");
    expect(await color()).toBe("red");
    await kubectl.must(["patch", "cm", "paint", "--type=merge", "-p", '{"data":{"color":"green"}}']);
    await create(workflow("second", "blue"));
    await ended("second", "Failed");
    expect(await step("second", "reason")).toBe("FieldManagerConflict");
    expect(await step("second", "message")).toContain('conflict with "kubectl-patch" using v1: .data.color');
    expect(await color()).toBe("green");
    await create(workflow("third", "blue", { force: true }));
    await ended("third", "Complete");
    expect(await color()).toBe("blue");
    await kubectl.must(["delete", "workflow", "first", "second", "third"]);
    expect(await color()).toBe("blue");
    await kubectl.must(["delete", "cm", "paint"]);
  });
});
