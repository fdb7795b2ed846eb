import { beforeAll, describe, expect, test } from "vitest";
import { kubectlsUnderTest } from "#test/support/kubectl.ts";
import { kubectlPlace } from "#test/support/kubectl-place.ts";

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

interface Entry {
  readonly manager: string;
  readonly operation: string;
}

describe.each(kubectlsUnderTest)("%s", (path) => {
  const { kubectl } = kubectlPlace(path);
  let minor = 0;

  beforeAll(() => {
    minor = Number(kubectl.minor.split(".")[1]);
  });

  const configMap = (name: string, data: Record<string, string>) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    data,
  });
  const apply = (object: object, ...args: readonly string[]) =>
    kubectl.run(["apply", "--server-side", ...args, "-f", "-"], { input: JSON.stringify(object) });
  const applied = async (object: object, ...args: readonly string[]) => {
    const { code, out, err } = await apply(object, ...args);
    expect(code, err).toBe(0);
    return out;
  };
  const read = async (kind: string, name: string) =>
    JSON.parse(await kubectl.must(["get", "--raw", `/api/v1/namespaces/default/${kind}/${name}`])) as {
      readonly data?: unknown;
      readonly spec?: unknown;
      readonly metadata: { readonly annotations?: Record<string, string>; readonly managedFields?: readonly Entry[] };
    };
  const managers = async (kind: string, name: string) =>
    ((await read(kind, name)).metadata.managedFields ?? []).map(({ manager, operation }) => `${manager} ${operation}`);

  test("apply --server-side creates, and the second time changes nothing", async () => {
    const object = configMap("first", { k: "1" });
    expect(await applied(object)).toBe("configmap/first serverside-applied\n");
    const before = await kubectl.must(["get", "cm", "first", "-o", "jsonpath={.metadata.resourceVersion}"]);
    expect(await applied(object)).toBe("configmap/first serverside-applied\n");
    expect(await kubectl.must(["get", "cm", "first", "-o", "jsonpath={.metadata.resourceVersion}"])).toBe(before);
    expect(await managers("configmaps", "first")).toEqual(["kubectl Apply"]);
  });

  test("managed fields are shown when they are asked for", async () => {
    await applied(configMap("shown", { k: "1" }));
    if (minor >= 21) {
      expect(await kubectl.must(["get", "cm", "shown", "-o", "yaml"])).not.toContain("managedFields");
      expect(await kubectl.must(["get", "cm", "shown", "-o", "yaml", "--show-managed-fields"])).toContain("f:k: {}");
    } else expect(await kubectl.must(["get", "cm", "shown", "-o", "yaml"])).toContain("f:k: {}");
    expect(await kubectl.must(["get", "cm", "shown"])).toMatch(/^NAME +DATA +AGE\nshown +1 +\S+\n$/);
  });

  test("a conflict names the manager and the fields; --force-conflicts takes them over", async () => {
    await applied(configMap("contested", { k: "1", l: "1" }), "--field-manager=one");
    const refused = await apply(configMap("contested", { k: "2" }), "--field-manager=two");
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('Apply failed with 1 conflict: conflict with "one": .data.k');
    await applied(configMap("contested", { k: "2" }), "--field-manager=two", "--force-conflicts");
    expect((await read("configmaps", "contested")).data).toEqual({ k: "2", l: "1" });
    const again = await apply(configMap("contested", { k: "3", l: "1" }), "--field-manager=one");
    expect(again.err).toContain('conflict with "two": .data.k');
  });

  test("a kubectl edit owns what it changed", async () => {
    await applied(configMap("edited", { k: "1", l: "1" }));
    await kubectl.must(["patch", "cm", "edited", "--type=merge", "-p", '{"data":{"k":"2"}}']);
    const refused = await apply(configMap("edited", { k: "1", l: "1" }));
    expect(refused.err).toMatch(/conflict with "kubectl-patch" using v1: \.data\.k/);
  });

  test("what is no longer declared goes, what others declare stays", async () => {
    await applied(configMap("pruned", { k: "1", l: "1" }), "--field-manager=one");
    await applied(configMap("pruned", { m: "1" }), "--field-manager=two");
    await applied(configMap("pruned", { l: "1" }), "--field-manager=one");
    expect((await read("configmaps", "pruned")).data).toEqual({ l: "1", m: "1" });
  });

  test("items of lists are known by their keys", async () => {
    const pod = (...containers: readonly object[]) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "listed", labels: { a: "1" } },
      spec: { nodeName: "nowhere", containers },
    });
    await applied(pod({ name: "x", image: "busybox" }, { name: "y", image: "busybox" }), "--field-manager=one");
    await applied(pod({ name: "y", image: "alpine" }), "--field-manager=two", "--force-conflicts");
    const { spec } = await read("pods", "listed");
    expect(spec).toMatchObject({
      containers: [
        { name: "x", image: "busybox" },
        { name: "y", image: "alpine" },
      ],
    });
    const refused = await apply(pod({ name: "y", image: "busybox" }), "--field-manager=three");
    expect(refused.err).toContain('conflict with "two": .spec.containers[name="y"].image');
    await kubectl.must(["delete", "pod", "listed", "--grace-period=0", "--force"]);
  });

  test("custom kinds are applied as well, and their controllers' status stays", async () => {
    const workflow = (command: string) => ({
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Workflow",
      metadata: { name: "applied" },
      spec: { steps: { only: { container: { image: "busybox", command: ["sh", "-c", command] } } } },
    });
    expect(await applied(workflow("true"))).toBe("workflow.slipway.dev/applied serverside-applied\n");
    await kubectl.must(["wait", "--for=condition=Complete", "workflow/applied", "--timeout=60s"]);
    expect(await applied(workflow("true"))).toBe("workflow.slipway.dev/applied serverside-applied\n");
    expect(await kubectl.must(["get", "wf", "applied", "-o", "jsonpath={.status.phase}"])).toBe("Succeeded");
  });

  test("going over from client-side apply leaves one manager, which takes back what is dropped", async () => {
    const input = (object: object) => ({ input: JSON.stringify(object) });
    await kubectl.must(["apply", "-f", "-"], input(configMap("migrated", { k: "1", l: "1" })));
    expect(await managers("configmaps", "migrated")).toEqual(["kubectl-client-side-apply Update"]);
    await applied(configMap("migrated", { k: "2", l: "1" }));
    if (minor >= 26) {
      // Older ones do not hand their entry over. The annotation itself is applied under a name of its own.
      // In the order of their times, which are whole seconds.
      const found = await managers("configmaps", "migrated");
      expect(found.toSorted()).toEqual(["kubectl Apply", "kubectl-last-applied Apply"]);
      await applied(configMap("migrated", { k: "2" }));
      expect((await read("configmaps", "migrated")).data).toEqual({ k: "2" });
    }
    const { annotations } = (await read("configmaps", "migrated")).metadata;
    expect(JSON.parse(annotations?.[lastApplied] ?? "{}")).toMatchObject({ data: { k: "2" } });
    // And back: client-side apply finds its own annotation renewed.
    expect(await kubectl.must(["apply", "-f", "-"], input(configMap("migrated", { k: "3" })))).toContain("configured");
    expect((await read("configmaps", "migrated")).data).toMatchObject({ k: "3" });
  });

  test("diff --server-side tells changes by its exit code and makes none", async () => {
    await applied(configMap("differs", { k: "1" }));
    const diff = (value: string) =>
      kubectl.run(["diff", "--server-side", "-f", "-"], { input: JSON.stringify(configMap("differs", { k: value })) });
    if (minor < 21) {
      expect((await diff("1")).err).toContain("doesn't support dry-run");
      return;
    }
    expect(await diff("1")).toMatchObject({ code: 0, out: "" });
    const changed = await diff("2");
    expect(changed.code).toBe(1);
    expect(changed.out).toMatch(/^-  k: "1"\n\+  k: "2"$/m);
    expect((await read("configmaps", "differs")).data).toEqual({ k: "1" });
    const absent = await kubectl.run(["diff", "--server-side", "-f", "-"], {
      input: JSON.stringify(configMap("nowhere", { k: "1" })),
    });
    expect(absent.code).toBe(1);
    expect((await kubectl.run(["get", "cm", "nowhere"])).code).toBe(1);
  });

  test("--dry-run=server shows the outcome and stores nothing", async () => {
    const dry = await apply(configMap("dry", { k: "1" }), "--dry-run=server");
    if (minor < 21) expect(dry.err).toContain("doesn't support dry-run");
    else expect(dry.out).toBe("configmap/dry serverside-applied (server dry run)\n");
    expect((await kubectl.run(["get", "cm", "dry"])).code).toBe(1);
  });
});
