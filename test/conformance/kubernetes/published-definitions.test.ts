import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";

// 54. The definitions that the originals publish are installed as they are, and take the documents that are written for them.

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

function definitionsOf(file: string): readonly JsonObject[] {
  const text = readFileSync(new URL(`testdata/definitions/${file}.yaml`, import.meta.url), "utf8");
  const read = readYaml(text);
  if (!read.ok) throw new Error(`${file}.yaml cannot be read`);
  return read.value.documents.map(({ value }) => value).filter((value) => isJsonObject(value));
}

interface Published {
  readonly file: string;
  readonly count: number;
  /** Where, and a document that is kept there as it is; defaults may be added. */
  readonly documents: readonly (readonly [path: string, document: object])[];
}

const published: readonly Published[] = [
  {
    file: "tinkerbell",
    count: 7,
    documents: [
      [
        "/apis/tinkerbell.org/v1alpha1/namespaces/default/templates",
        { apiVersion: "tinkerbell.org/v1alpha1", kind: "Template", spec: { data: 'version: "0.1"\nname: t\n' } },
      ],
      [
        "/apis/tinkerbell.org/v1alpha1/namespaces/default/hardware",
        {
          apiVersion: "tinkerbell.org/v1alpha1",
          kind: "Hardware",
          spec: { disks: [{ device: "/dev/sda" }], interfaces: [{ dhcp: { mac: "00:00:00:00:00:01" } }] },
        },
      ],
      [
        "/apis/tinkerbell.org/v1alpha1/namespaces/default/workflows",
        {
          apiVersion: "tinkerbell.org/v1alpha1",
          kind: "Workflow",
          spec: { templateRef: "t", hardwareRef: "h", hardwareMap: { device_1: "00:00:00:00:00:01" } },
        },
      ],
    ],
  },
  { file: "tinkerbell-v1alpha2", count: 5, documents: [] },
  {
    file: "kubevela",
    count: 12,
    documents: [
      [
        "/apis/core.oam.dev/v1beta1/namespaces/default/applications",
        {
          apiVersion: "core.oam.dev/v1beta1",
          kind: "Application",
          spec: {
            components: [
              {
                name: "web",
                type: "webservice",
                properties: { image: "x", ports: [{ port: 80 }] },
                traits: [{ type: "scaler", properties: { replicas: 2 } }],
              },
            ],
            workflow: { steps: [{ name: "s", type: "apply-component", properties: { component: "web" } }] },
          },
        },
      ],
      [
        "/apis/core.oam.dev/v1beta1/namespaces/default/workflowstepdefinitions",
        {
          apiVersion: "core.oam.dev/v1beta1",
          kind: "WorkflowStepDefinition",
          spec: { schematic: { cue: { template: "parameter: {}\n" } } },
        },
      ],
    ],
  },
];

describe.each(published)("of $file", ({ file, count, documents }) => {
  let api: TestServer;
  const installed = definitionsOf(file);
  beforeAll(async () => void (api = await startTestServer()));
  afterAll(() => api.close());

  test("all are installed and served, without a warning", async () => {
    expect(installed).toHaveLength(count);
    for (const definition of installed) {
      const made = await api.ask("POST", crds, { body: definition });
      expect(made.status, made.text).toBe(201);
      expect(made.headers["warning"]).toBeUndefined();
      expect(made.json["status"]?.["conditions"]).toContainEqual(
        expect.objectContaining({ type: "Established", status: "True" }),
      );
    }
  });

  test("their documents are kept whole, and shown", async () => {
    for (const [path, document] of documents) {
      const made = await api.ask("POST", `${path}?fieldValidation=Strict`, {
        body: { ...document, metadata: { name: "a" } },
      });
      expect(made.status, made.text).toBe(201);
      expect(made.json).toMatchObject(document);
      const table = await api.ask("GET", path, { headers: { Accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } });
      expect(table.json["rows"]).toHaveLength(1);
    }
  });
});
