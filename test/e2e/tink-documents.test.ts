import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import {
  cleanEnvironment,
  endRunner,
  exec,
  removeDirectory,
  root,
  slipwayBin,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// Documents of both versions as people apply and look at them, with kubectl on `slipway up`.

const patience = { timeout: 60_000 };
let directory: string;
let server: TestServer;
let agent: ChildProcess;
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(join(directory, "server"), ["--tink-listen", "127.0.0.1:0"]);
  const [, address = ""] = /agents of Tinkerbell at (\S+)/.exec(server.printed()) ?? [];
  const own = ["--id", "m-1", "--server", address, "--runtime", "host", "--state-dir", join(directory, "agent")];
  agent = spawn(slipwayBin, ["agent", ...own], { env: cleanEnvironment({ HOME: directory }), stdio: "ignore" });
});
afterAll(async () => {
  const ended = once(agent, "exit");
  agent.kill("SIGKILL");
  await ended;
  await endRunner(join(directory, "agent"));
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(directory);
});

const kubectl = async (...words: readonly string[]): Promise<string> => {
  const { code, out, err } = await exec("kubectl", ["--kubeconfig", server.kubeconfig, ...words]);
  expect(code, err).toBe(0);
  return out;
};
const read = async (name: string, path: string): Promise<string> =>
  await kubectl("get", "workflows.tinkerbell.org", name, "-o", `jsonpath={${path}}`);

interface Document {
  readonly kind: string;
  readonly name: string;
  readonly spec: JsonObject;
  readonly annotations?: JsonObject;
}
async function apply(version: string, ...documents: readonly Document[]): Promise<void> {
  const items = documents.map(({ kind, name, spec, annotations = {} }) => ({
    apiVersion: `tinkerbell.org/${version}`,
    kind,
    metadata: { name, namespace: "default", annotations },
    spec,
  }));
  const path = join(directory, `${documents[0]?.name}.json`);
  await writeFile(path, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await kubectl("apply", "-f", path);
}
const template = (name: string, worker: string): Document => {
  const actions = [{ name: "one", image: "none", command: ["/bin/true"] }];
  return { kind: "Template", name, spec: { data: JSON.stringify({ name, tasks: [{ name: "t", worker, actions }] }) } };
};
/** The words of a table's head. */
const headOf = (table: string): readonly string[] => (table.split("\n")[0] ?? "").trim().split(/\s+/);

test("1. a template for Ubuntu, its hardware and its workflow", async () => {
  const data = await readFile(join(root, "test/conformance/tinkerbell/testdata/ubuntu.yaml"), "utf8");
  const dhcp = { mac: "08:00:27:9e:f5:3a", arch: "x86_64", uefi: true };
  const hardwareMap = { device_1: "08:00:27:9e:f5:3a", server: "192.168.56.4" };
  await apply(
    "v1alpha1",
    {
      kind: "Hardware",
      name: "machine1",
      spec: { disks: [{ device: "/dev/nvme0n1" }], interfaces: [{ dhcp, netboot: { allowPXE: true } }] },
    },
    { kind: "Template", name: "ubuntu", spec: { data } },
    { kind: "Workflow", name: "ubuntu", spec: { templateRef: "ubuntu", hardwareRef: "machine1", hardwareMap } },
  );
  await kubectl("wait", "--for=jsonpath={.status.state}=PENDING", "workflows.tinkerbell.org/ubuntu", "--timeout=60s");
  expect(await read("ubuntu", ".status.tasks[0].actions[*].name")).toBe(
    "stream image grow partition write netplan kexec",
  );
  const netplan = (name: string) => read("ubuntu", `.status.tasks[0].actions[2].environment.${name}`);
  expect([await netplan("MODE"), await netplan("UID")]).toEqual(["0644", "0"]);
  expect(await read("ubuntu", ".status.tasks[0].actions[1].environment.BLOCK_DEVICE")).toBe("/dev/nvme0n1p1");
});

test("2. a workflow whose template comes later", async () => {
  await apply("v1alpha1", { kind: "Workflow", name: "early", spec: { templateRef: "late" } });
  const condition = '.status.conditions[?(@.type=="TemplateRenderedSuccess")].message';
  await expect.poll(() => read("early", condition), patience).toBe("template not found");
  expect(await read("early", ".status.state")).toBe("");
  await apply("v1alpha1", template("late", "nobody"));
  await kubectl("wait", "--for=jsonpath={.status.state}=PENDING", "workflows.tinkerbell.org/early", "--timeout=60s");
});

test("16. a workflow that is cancelled by its status stays", async () => {
  await apply("v1alpha1", template("stays", "nobody"), {
    kind: "Workflow",
    name: "stays",
    spec: { templateRef: "stays" },
  });
  const path = "workflows.tinkerbell.org/stays";
  await kubectl("wait", "--for=jsonpath={.status.state}=PENDING", path, "--timeout=60s");
  await kubectl("patch", path, "--subresource=status", "--type=merge", "-p", '{"status":{"state":"Cancelling"}}');
  await kubectl("wait", "--for=jsonpath={.status.state}=CANCELED", path, "--timeout=60s");
  expect(await read("stays", ".status.failureMessage")).toBe("canceled by User");
});

test("40. both versions: explain, get, describe and wait", async () => {
  await apply("v1alpha1", template("a", "m-1"), { kind: "Workflow", name: "a", spec: { templateRef: "a" } });
  await apply(
    "v1alpha2",
    { kind: "Hardware", name: "b", spec: { networkInterfaces: {} }, annotations: { "tinkerbell.org/agent-id": "m-1" } },
    { kind: "Template", name: "b", spec: { actions: [{ name: "one", image: "none", cmd: "/bin/true" }] } },
    { kind: "Workflow", name: "b", spec: { templateRef: { name: "b" }, hardwareRef: { name: "b" } } },
  );
  for (const name of ["a", "b"])
    await kubectl("wait", "--for=condition=Succeeded", `workflows.tinkerbell.org/${name}`, "--timeout=60s");
  const explain = async (version: string) =>
    await kubectl("explain", "workflows.spec.templateRef", `--api-version=tinkerbell.org/${version}`);
  expect(await explain("v1alpha1")).toMatch(/FIELD: templateRef <string>/);
  expect(await explain("v1alpha2")).toMatch(/FIELD: templateRef <Object>/);
  const wide = (version: string) => kubectl("get", `workflows.${version}.tinkerbell.org`, "-o", "wide");
  expect(headOf(await wide("v1alpha1"))).toEqual([
    "NAME",
    "TEMPLATE",
    "STATE",
    "TASK",
    "ACTION",
    "AGENT",
    "HARDWARE",
    "TEMPLATE-RENDERING",
    "AGE",
  ]);
  expect(await wide("v1alpha1")).toMatch(/^a +a +SUCCESS +t +one +m-1 +successful /m);
  expect(headOf(await wide("v1alpha2"))).toEqual(["NAME", "STATE", "HARDWARE", "TEMPLATE", "ACTION", "REASON", "AGE"]);
  expect(await wide("v1alpha2")).toMatch(/^b +Succeeded +b +b +one /m);
  const described = await kubectl("describe", "workflows.v1alpha1.tinkerbell.org", "a");
  expect(described).toMatch(/Type: +Succeeded/);
  expect(described).toMatch(/Normal +ActionSucceeded/);
});
