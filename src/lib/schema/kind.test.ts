import { expect, expectTypeOf, test } from "vitest";
import { age, column, kind, type ObjectOf, readStructuralSchema, s, schemaAsJson, toCrd, toCrds } from "./index.ts";

const Build = kind({
  group: "wharf.slipway.dev",
  version: "v1alpha1",
  kind: "Build",
  plural: "builds",
  scope: "Namespaced",
  shortNames: ["bd"],
  description: "One run of a project's pipeline.",
  spec: s.object({
    project: s.string({ minLength: 1, description: "Path of the project, group/name." }),
    stage: s.optional(s.string()),
    inputs: s.optional(s.map(s.scalar())),
    retries: s.integer({ default: 0, minimum: 0 }),
  }),
  status: s.object({
    phase: s.optional(s.oneOf("Running", "Completed", "Failed")),
    steps: s.optional(s.list(s.object({ name: s.string(), done: s.boolean() }), { key: "name" })),
  }),
  columns: [column("Project", ".spec.project"), column("Status", ".status.phase", { priority: 1 }), age()],
  selectableFields: [".spec.project"],
});
type Build = ObjectOf<typeof Build>;

test("the objects' type follows from the declaration", () => {
  expectTypeOf<Build["spec"]["project"]>().toEqualTypeOf<string>();
  expectTypeOf<Build["spec"]["stage"]>().toEqualTypeOf<string | undefined>();
  expectTypeOf<Build["spec"]["retries"]>().toEqualTypeOf<number>();
  expectTypeOf<NonNullable<Build["status"]>["phase"]>().toEqualTypeOf<"Running" | "Completed" | "Failed" | undefined>();
  const build: Build = {
    apiVersion: "wharf.slipway.dev/v1alpha1",
    kind: "Build",
    metadata: { name: "b" },
    spec: { project: "a/b", retries: 1, inputs: { x: true, y: 1 } },
    status: { steps: [{ name: "s", done: false }] },
  };
  expect(build.spec.project).toBe("a/b");
});

test("a kind without a spec has no spec in its type", () => {
  const Plain = kind({
    group: "g.example",
    version: "v1",
    kind: "Plain",
    plural: "plains",
    scope: "Cluster",
    fields: { data: s.map(s.string()) },
  });
  const plain: ObjectOf<typeof Plain> = { apiVersion: "g.example/v1", kind: "Plain", metadata: {}, data: { a: "b" } };
  expect(plain.data.a).toBe("b");
  expect(Plain.namespaced).toBe(false);
  expect(Plain.schema.required).toEqual(["data"]);
});

test("the CustomResourceDefinition says everything the declaration says", () => {
  expect(toCrd(Build)).toMatchObject({
    metadata: { name: "builds.wharf.slipway.dev" },
    spec: {
      group: "wharf.slipway.dev",
      scope: "Namespaced",
      names: { plural: "builds", singular: "build", kind: "Build", listKind: "BuildList", shortNames: ["bd"] },
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          subresources: { status: {} },
          selectableFields: [{ jsonPath: ".spec.project" }],
          additionalPrinterColumns: [
            { name: "Project", jsonPath: ".spec.project", type: "string" },
            { name: "Status", jsonPath: ".status.phase", type: "string", priority: 1 },
            { name: "Age", jsonPath: ".metadata.creationTimestamp", type: "date" },
          ],
          schema: {
            openAPIV3Schema: {
              type: "object",
              required: ["spec"],
              properties: {
                spec: {
                  type: "object",
                  required: ["project"],
                  properties: {
                    inputs: { type: "object", additionalProperties: { "x-kubernetes-preserve-unknown-fields": true } },
                    retries: { type: "integer", format: "int64", default: 0, minimum: 0 },
                  },
                },
                status: {
                  properties: {
                    phase: { type: "string", enum: ["Running", "Completed", "Failed"] },
                    steps: { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
                  },
                },
              },
            },
          },
        },
      ],
    },
  });
});

test("the schema is structural", () => {
  expect(readStructuralSchema(schemaAsJson(Build.schema), [])).toEqual({ ok: true, value: Build.schema });
});

test("versions of one kind make one definition, of which the first is stored", () => {
  const later = { ...Build, version: "v1", columns: [age()] };
  const other = { ...Build, plural: "others", kind: "Other" };
  const [definition, second] = toCrds([Build, other, later]);
  expect(toCrds([Build, other, later])).toHaveLength(2);
  expect(definition).toMatchObject({
    spec: {
      versions: [
        { name: "v1alpha1", storage: true, served: true },
        { name: "v1", storage: false, served: true, additionalPrinterColumns: [{ name: "Age" }] },
      ],
    },
  });
  expect(second).toEqual(toCrd(other));
});
