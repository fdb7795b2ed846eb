import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { pathOf, TinkerbellPlane } from "./plane.ts";
import { PythonClient } from "./python-client.ts";
import { connect, countOf, startsOf, tell } from "./stream-agent.ts";

// Documents of both shapes on the real server, rendered by the real module.

const ubuntu = readFileSync(join(import.meta.dirname, "testdata/ubuntu.yaml"), "utf8");
const machine = {
  disks: [{ device: "/dev/nvme0n1" }],
  interfaces: [
    {
      dhcp: { mac: "08:00:27:9e:f5:3a", arch: "x86_64", uefi: true, ip: { address: "192.168.56.43" } },
      netboot: { allowPXE: true, allowWorkflow: true },
    },
  ],
};
const patience = { timeout: 30_000 };

let plane: TinkerbellPlane;
beforeEach(async () => {
  plane = await TinkerbellPlane.start({ cancellingTimeout: 500 });
});
afterEach(() => plane.close());

const created = async (...object: Parameters<TinkerbellPlane["create"]>) => {
  const answer = await plane.create(...object);
  expect(answer.status, answer.text).toBe(201);
};
const patched = async (path: string, body: object) => {
  const headers = { "Content-Type": "application/merge-patch+json" };
  const answer = await plane.api.ask("PATCH", path, { body, headers });
  expect(answer.status, answer.text).toBe(200);
};

test("a template for Ubuntu, its hardware and its workflow are prepared with the texts of numbers and devices", async () => {
  await created("hardware", machine, "machine1");
  await created("templates", { data: ubuntu }, "ubuntu");
  const hardwareMap = { device_1: "08:00:27:9e:f5:3a", server: "192.168.56.4" };
  await created("workflows", { templateRef: "ubuntu", hardwareRef: "machine1", hardwareMap }, "w");
  await expect.poll(async () => (await plane.workflow())["status"], patience).toMatchObject({ state: "PENDING" });
  expect((await plane.workflow())["status"]).toMatchObject({
    agentID: "08:00:27:9e:f5:3a",
    templateRendering: "successful",
    globalTimeout: 9800,
    tasks: [
      {
        name: "os installation",
        actions: [
          { name: "stream image", timeout: 9600, environment: { DEST_DISK: "/dev/nvme0n1", COMPRESSED: "true" } },
          { name: "grow partition", environment: { BLOCK_DEVICE: "/dev/nvme0n1p1", CHROOT: "y" } },
          { name: "write netplan", environment: { MODE: "0644", UID: "0", DIRMODE: "0755" } },
          { name: "kexec", pid: "host" },
        ],
      },
    ],
  });
  await expect
    .poll(async () => (await plane.api.ask("GET", `${pathOf("templates")}/ubuntu`)).json["status"], patience)
    .toEqual({ state: "Ready" });
});

test("a workflow of v1alpha2 is prepared and written in its version, and read in both", async () => {
  await created(
    "hardware",
    { networkInterfaces: { "08:00:27:9e:f5:3a": {} }, storageDevices: ["/dev/sda"] },
    "m",
    "v1alpha2",
  );
  const actions = [
    {
      name: "stream",
      image: "busybox:1.36",
      cmd: "/bin/sh",
      args: ["-c", "{{ index .Hardware.StorageDevices 0 }}"],
      env: { T: "{{ .Param.word }}" },
    },
  ];
  await created("templates", { actions }, "t", "v1alpha2");
  const spec = {
    templateRef: { name: "t" },
    hardwareRef: { name: "m" },
    templateParams: { word: "hello" },
    timeout: 60,
  };
  await created("workflows", spec, "w", "v1alpha2");
  await expect.poll(async () => (await plane.workflow())["status"], patience).toMatchObject({ state: "Pending" });
  for (const version of ["v1alpha1", "v1alpha2"])
    expect((await plane.workflow("w", version))["status"]).toMatchObject({
      shape: "B",
      agentID: "08:00:27:9e:f5:3a",
      actions: [{ state: "Pending", rendered: { cmd: "/bin/sh", args: ["-c", "/dev/sda"], env: { T: "hello" } } }],
    });
});

test("hardware of the original's own v1alpha2 is stored as it is written, and serves a workflow", async () => {
  const spec = {
    arch: "x86_64",
    bmc: { connection: { host: "192.0.2.9", credentialsRef: { name: "c", namespace: "n" } } },
    instance: { lookupID: "a8f3", sshKeys: ["ssh-rsa AAAA"], vars: { a: "b" } },
    networkInterfaces: {
      "08:00:27:9e:f5:3a": {
        dhcp: { ipv4: { hostname: "h", vlanID: "110" } },
        ipam: { ipv4: { address: "192.0.2.7", prefix: "24" } },
        netboot: { ipxe: { script: "#!ipxe" } },
      },
    },
    storageDevices: [{ name: "/dev/nvme0n1" }],
  };
  await created("hardware", spec, "m", "v1alpha2");
  for (const version of ["v1alpha1", "v1alpha2"])
    expect((await plane.api.ask("GET", `${pathOf("hardware", version)}/m`)).json["spec"]).toEqual(spec);
  const args = ["{{ formatPartition (index .Hardware.StorageDevices 0) 1 }}"];
  await created("templates", { actions: [{ name: "a", image: "busybox", args }] }, "t", "v1alpha2");
  await created("workflows", { templateRef: { name: "t" }, hardwareRef: { name: "m" } }, "w", "v1alpha2");
  await expect
    .poll(async () => (await plane.workflow())["status"], patience)
    .toMatchObject({
      state: "Pending",
      agentID: "08:00:27:9e:f5:3a",
      actions: [{ rendered: { args: ["/dev/nvme0n1p1"] } }],
    });
});

test("a template that comes later, or is mended, is taken without further action", async () => {
  await created("workflows", { templateRef: "t" }, "w");
  const problem = () => plane.condition("TemplateRenderedSuccess");
  await expect
    .poll(problem, patience)
    .toMatchObject({ status: "False", reason: "Error", message: "template not found" });
  await created(
    "templates",
    { data: "name: t\ntasks: [{name: a, worker: x, actions: [{name: b, image: 'UPPER'}]}]" },
    "t",
  );
  await expect.poll(async () => JSON.stringify(await problem()), patience).toContain("invalid action image (UPPER)");
  const data = "name: t\ntasks: [{name: a, worker: x, actions: [{name: b, image: busybox}]}]";
  await patched(`${pathOf("templates")}/t`, { spec: { data } });
  await expect.poll(async () => (await plane.workflow())["status"], patience).toMatchObject({ state: "PENDING" });
});

test("a missing value is told with its place in the text", async () => {
  await created("templates", { data: "name: t\ntasks:\n- name: a\n  worker: {{ .device_1 }}\n  actions: []\n" }, "t");
  await created("workflows", { templateRef: "t" }, "w");
  await expect
    .poll(async () => JSON.stringify(await plane.condition("TemplateRenderedSuccess")), patience)
    .toContain(
      "error rendering template: failed to parse template with ID w: err: template: workflow-template:4:13: executing",
    );
});

test("the other version's reference is refused by name", async () => {
  const answer = await plane.create("workflows", { templateRef: { name: "x" } }, "w");
  expect(answer.status).toBe(422);
  expect(answer.json["message"]).toContain("spec.templateRef: Invalid value");
  expect(answer.json["message"]).toContain("must be of type string");
});

test("fields that nobody has declared are kept", async () => {
  await created("hardware", { id: "x", network: { interfaces: [] } }, "old");
  const { json } = await plane.api.ask("GET", `${pathOf("hardware")}/old`);
  expect(json["spec"]).toEqual({ id: "x", network: { interfaces: [] } });
});

test("a person may cancel by writing the state, and the workflow stays", async () => {
  await created(
    "templates",
    { data: "name: t\ntasks: [{name: a, worker: x, actions: [{name: b, image: busybox}]}]" },
    "t",
  );
  await created("workflows", { templateRef: "t" }, "w");
  await expect.poll(async () => (await plane.workflow())["status"], patience).toMatchObject({ state: "PENDING" });
  await patched(`${pathOf("workflows")}/w/status`, { status: { state: "Cancelling" } });
  await expect.poll(async () => (await plane.workflow())["status"], patience).toMatchObject({ state: "CANCELED" });
  expect((await plane.workflow())["status"]).toMatchObject({
    failureReason: "Canceled",
    failureMessage: "canceled by User",
  });
});

test("a pending workflow that is deleted is canceled and gone", async () => {
  await created(
    "templates",
    { data: "name: t\ntasks: [{name: a, worker: x, actions: [{name: b, image: busybox}]}]" },
    "t",
  );
  await created("workflows", { templateRef: "t" }, "w");
  await expect.poll(async () => (await plane.workflow())["status"], patience).toMatchObject({ state: "PENDING" });
  await plane.api.ask("DELETE", `${pathOf("workflows")}/w`);
  await expect.poll(async () => (await plane.workflow())["reason"], patience).toBe("NotFound");
});

test("a machine may boot from the network from before its workflow until it has succeeded", async () => {
  const [one] = machine.interfaces;
  await created("hardware", { ...machine, interfaces: [{ ...one, netboot: { allowPXE: false } }] }, "m");
  await created(
    "templates",
    { data: "name: t\ntasks: [{name: a, worker: x, actions: [{name: b, image: busybox}]}]" },
    "t",
  );
  await created("workflows", { templateRef: "t", hardwareRef: "m", bootOptions: { toggleAllowNetboot: true } }, "w");
  await expect.poll(async () => (await plane.workflow())["status"], patience).toMatchObject({ state: "PENDING" });
  const { json } = await plane.api.ask("GET", `${pathOf("hardware")}/m`);
  expect(json["spec"]).toMatchObject({ interfaces: [{ netboot: { allowPXE: true } }] });
});

test.each([
  ["failed", false],
  ["succeeded", true],
] as const)("when it has %s, that it may boot from the network is taken back: %s", async (ending, isTakenBack) => {
  const client = await PythonClient.start(await plane.agentPort);
  try {
    const [one] = machine.interfaces;
    const data = "name: t\ntasks: [{name: a, worker: x, actions: [{name: b, image: busybox}]}]";
    await created("hardware", { ...machine, interfaces: [{ ...one, netboot: { allowPXE: false } }] }, "m");
    await created("templates", { data }, "t");
    const spec = { templateRef: "t", hardwareRef: "m", bootOptions: { toggleAllowNetboot: true } };
    await created("workflows", spec, "w");
    const stream = connect(client, "x");
    await expect.poll(() => countOf(stream, "start_workflow"), patience).toBe(1);
    const [{ workflow_id, actions } = { workflow_id: "", actions: [] }] = startsOf(stream);
    expect(await tell(client, workflow_id, [ending, String(actions[0]?.["id"])])).toBe("OK");
    const end = isTakenBack ? "SUCCESS" : "FAILED";
    await expect.poll(async () => (await plane.workflow())["status"], patience).toMatchObject({ state: end });
    const { json } = await plane.api.ask("GET", `${pathOf("hardware")}/m`);
    expect(json["spec"]).toMatchObject({ interfaces: [{ netboot: { allowPXE: !isTakenBack } }] });
  } finally {
    await client.close();
  }
});
