import { expect, test } from "vitest";
import { compileSchema, readStructuralSchema, schemaAsJson, toCrds } from "#lib/schema/index.ts";
import { Agent } from "#kernel/agents/index.ts";
import { Hardware, HardwareV2, Osie, Template, TemplateV2, Workflow, WorkflowV2 } from "./kinds.ts";
import { shapeOfTemplate, shapeOfWorkflow } from "./shape.ts";

const all = [Hardware, HardwareV2, Template, TemplateV2, Workflow, WorkflowV2, Osie, Agent];

test("both versions of a kind are one definition, of which the released one is stored", () => {
  const versions = toCrds(all).map(({ metadata, spec }) => [
    metadata.name,
    JSON.stringify(spec).match(/"storage":\w+/g),
  ]);
  expect(versions).toEqual([
    ["hardware.tinkerbell.org", ['"storage":true', '"storage":false']],
    ["templates.tinkerbell.org", ['"storage":true', '"storage":false']],
    ["workflows.tinkerbell.org", ['"storage":true', '"storage":false']],
    ["osies.tinkerbell.org", ['"storage":true']],
    ["agents.slipway.dev", ['"storage":true']],
  ]);
});

test.each(all.map((kind) => [`${kind.kind} ${kind.version}`, kind] as const))(
  "%s has a structural schema",
  (_name, kind) => {
    expect(readStructuralSchema(schemaAsJson(kind.schema), [])).toMatchObject({ ok: true });
  },
);

const interfaceV2 = { "52:54:00:12:34:56": { dhcp: { ip: "192.0.2.7", leaseTimeSeconds: 60 } } };
const bmcRef = { apiGroup: "bmc.tinkerbell.org", kind: "Machine", name: "m" };
test.each([
  [Workflow, { templateRef: { name: "t" }, hardwareRef: { name: "h" }, templateParams: { a: "b" }, timeout: 60 }],
  [WorkflowV2, { templateRef: "t", hardwareRef: "h", hardwareMap: { a: "b" }, bootOptions: { bootMode: "iso" } }],
  [Template, { actions: [{ name: "a", image: "i", namespaces: { pid: 1 } }], env: { A: "1" } }],
  [TemplateV2, { data: "tasks: []" }],
  [Hardware, { networkInterfaces: interfaceV2, osie: { name: "o" }, bmcRef, instance: { userdata: "u" } }],
  [HardwareV2, { interfaces: [{ dhcp: { mac: "52:54:00:12:34:56" } }], bmcRef, metadata: { custom: { a: 1 } } }],
] as const)("a document of the other version loses nothing where $kind $version is stored or read", (kind, spec) => {
  const { value, unknown } = compileSchema(kind.schema).prune({ spec });
  expect(unknown).toEqual([]);
  expect(value).toMatchObject({ spec });
});

test("Hardware of the original's own v1alpha2 is valid and stored as it is written, in either version", () => {
  const spec = {
    agentID: "1234",
    arch: "x86_64",
    auto: { enrollmentEnabled: false },
    bmc: { bootMode: "UEFI", connection: { host: "192.0.2.9", credentialsRef: { name: "c", namespace: "n" } } },
    instance: {
      lookupID: "a8f3",
      metadata: "instance-id: i",
      networkConfig: "network: {}",
      osie: { initrdURL: "http://192.0.2.1/i", kernelParams: ["console=ttyS2"] },
      sshKeys: ["ssh-rsa AAAA"],
      userdata: "#cloud-config",
      vars: { a: "b" },
      vendordata: "v",
    },
    networkInterfaces: {
      "52:54:00:12:34:56": {
        dhcp: {
          ipv4: { disabled: false, hostname: "h", leaseTimeSeconds: 60, vlanID: "110" },
          ipv6: { disabled: true },
        },
        ipam: { ipv4: { address: "192.0.2.7", gateway: "192.0.2.1", prefix: "24" } },
        netboot: { disabled: false, ipxe: { script: "#!ipxe" }, rpi: { serialNum: "9ffefdef" } },
      },
    },
    references: { ca: { group: "", name: "ca", namespace: "n", resource: "secrets", version: "v1" } },
    storageDevices: [{ name: "/dev/sda" }],
  };
  for (const kind of [Hardware, HardwareV2]) {
    const schema = compileSchema(kind.schema);
    const object = { apiVersion: `tinkerbell.org/${kind.version}`, kind: "Hardware", spec };
    const { value, unknown } = schema.prune(schema.withDefaults(object));
    expect([unknown, schema.validate(value), value]).toEqual([[], [], object]);
  }
});

test("a Workflow of one version does not pass for one of the other", () => {
  const written = (spec: object) => ({ metadata: { name: "w" }, spec: { ...spec } });
  const fields = (kind: typeof Workflow | typeof WorkflowV2, spec: object) =>
    compileSchema(kind.schema)
      .validate({ apiVersion: `tinkerbell.org/${kind.version}`, kind: "Workflow", ...written(spec) })
      .map(({ field }) => field);
  expect(fields(Workflow, { templateRef: "t", hardwareRef: "h" })).toEqual([]);
  expect(fields(Workflow, { templateRef: { name: "t" } })).toEqual(["spec.templateRef"]);
  expect(fields(WorkflowV2, { templateRef: { name: "t" }, hardwareRef: { name: "h" }, timeout: 0 })).toEqual([]);
  expect(fields(WorkflowV2, { templateRef: "t", timeout: 0 })).toEqual(["spec.templateRef"]);
});

test.each([
  [{ templateRef: "t" }, "A"],
  [{}, "A"],
  [undefined, "A"],
  [{ templateRef: { name: "t" }, hardwareRef: { name: "h" } }, "B"],
  [{ tasks: [] }, "C"],
] as const)("the shape of a Workflow is told by its structure: %j is %s", (spec, shape) => {
  expect(shapeOfWorkflow(spec)).toBe(shape);
});

test.each([
  [{ data: "tasks: []" }, "A"],
  [{ actions: [] }, "B"],
  [{}, undefined],
  [undefined, undefined],
] as const)("the shape of a Template is told by its structure: %j is %s", (spec, shape) => {
  expect(shapeOfTemplate(spec)).toBe(shape);
});
