import { describe, expect, test } from "vitest";
import { kubectlsUnderTest } from "#test/support/kubectl.ts";
import { kubectlPlace } from "#test/support/kubectl-place.ts";

// Deletion as people do it: with each policy, held by finalizers, of a whole namespace.

describe.each(kubectlsUnderTest)("%s", (path) => {
  const { kubectl } = kubectlPlace(path);

  const apply = (object: object) => kubectl.must(["apply", "-f", "-"], { input: JSON.stringify(object) });
  const map = (name: string, metadata: object = {}) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...metadata },
  });
  /** An object and one that it owns, and that holds up its deletion. */
  const pair = async (name: string) => {
    await apply(map(name));
    const uid = await kubectl.must(["get", "cm", name, "-o", "jsonpath={.metadata.uid}"]);
    const owner = { apiVersion: "v1", kind: "ConfigMap", name, uid, blockOwnerDeletion: true };
    await apply(map(`${name}-child`, { ownerReferences: [owner] }));
  };
  const names = async () => (await kubectl.must(["get", "cm", "-o", "name"])).trim().split("\n");

  test("in the foreground an object goes after what it owns", async () => {
    await pair("front");
    expect(await kubectl.must(["delete", "cm", "front", "--cascade=foreground", "--timeout=30s"])).toContain("deleted");
    expect((await names()).filter((name) => name.includes("front"))).toEqual([]);
  });

  test("what is orphaned stays, without its owner", async () => {
    await pair("left");
    await kubectl.must(["delete", "cm", "left", "--cascade=orphan", "--timeout=30s"]);
    expect((await names()).filter((name) => name.includes("left"))).toEqual(["configmap/left-child"]);
    expect(await kubectl.must(["get", "cm", "left-child", "-o", "jsonpath={.metadata.ownerReferences}"])).toBe("");
  });

  test("a template goes without its runs, a run with the children of its steps", async () => {
    await kubectl.must(["apply", "-f", "examples/workflow/templates.yaml"]);
    expect(await kubectl.must(["explain", "wft.spec.params.required"])).toContain("An argument must be given.");
    await kubectl.must([
      "wait",
      "--for=condition=Complete",
      "workflow/templates",
      "workflow/farewell",
      "--timeout=60s",
    ]);
    await kubectl.must(["delete", "wft", "greeting"]);
    const told = ["get", "wf", "templates", "farewell", "-o", "jsonpath={.items[*].status.outputs}"];
    expect(await kubectl.must(told)).toMatch(/hello, ann.*hello, ben.*goodbye, all/);
    const children = ["get", "wf", "-l", "slipway.dev/depth=1", "-o", "name"];
    expect((await kubectl.must(children)).trim().split("\n")).toHaveLength(3);
    await kubectl.must(["delete", "wf", "templates", "--cascade=foreground", "--timeout=30s"]);
    expect(await kubectl.must(children)).toBe("");
  });

  test("in the background what it owns goes soon", async () => {
    await pair("back");
    await kubectl.must(["delete", "cm", "back", "--cascade=background"]);
    const { code, err } = await kubectl.run(["wait", "--for=delete", "cm/back-child", "--timeout=30s"]);
    // Gone before anybody could wait for it is as good.
    expect(code === 0 || /not found|no matching/.test(err), err).toBe(true);
  });

  test("a finalizer holds an object until it is taken away", async () => {
    await apply(map("held", { finalizers: ["example.org/wait"] }));
    await kubectl.must(["delete", "cm", "held", "--wait=false"]);
    expect(await kubectl.must(["get", "cm", "held", "-o", "jsonpath={.metadata.deletionTimestamp}"])).not.toBe("");
    await kubectl.must(["patch", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}']);
    expect((await kubectl.run(["get", "cm", "held"])).code).toBe(1);
  });

  test("a namespace goes with its content, and lets nothing in meanwhile", async () => {
    await kubectl.must(["create", "namespace", "team"]);
    await apply(map("stuck", { namespace: "team", finalizers: ["example.org/wait"] }));
    await kubectl.must(["delete", "namespace", "team", "--wait=false"]);
    const late = await kubectl.run(["create", "configmap", "late", "-n", "team"]);
    expect([late.code, late.err]).toEqual([1, expect.stringContaining("because it is being terminated")]);
    await kubectl.must([
      "patch",
      "cm",
      "stuck",
      "-n",
      "team",
      "--type=merge",
      "-p",
      '{"metadata":{"finalizers":null}}',
    ]);
    const gone = await kubectl.run(["wait", "--for=delete", "namespace/team", "--timeout=30s"]);
    expect(gone.code === 0 || /not found|no matching/.test(gone.err), gone.err).toBe(true);
  });
});
