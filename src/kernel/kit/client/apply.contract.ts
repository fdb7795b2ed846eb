import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { apiVersionOf, isConflict, isNotFound, type KubeObject } from "#kernel/model/index.ts";
import type { ApiClient } from "./api-client.ts";
import type { ApiClientFixture } from "./client.contract.ts";

/**
 * Server-side apply through an ApiClient, apart from the suite of every client: the client in memory, which has no schemas, refuses it
 * by name.
 */
export function describeServerSideApply(name: string, make: () => Promise<ApiClientFixture>): void {
  describe(`server-side apply: ${name}`, () => {
    let fixture: ApiClientFixture;
    let client: ApiClient;
    beforeEach(async () => {
      fixture = await make();
      ({ client } = fixture);
    });
    afterEach(() => fixture.close());

    const refOf = (object: string) => ({ type: fixture.widgets, namespace: fixture.namespace, name: object });
    const widget = (spec: object, metadata: object = {}) => ({
      apiVersion: apiVersionOf(fixture.widgets),
      kind: fixture.widgets.kind,
      metadata: { name: "a", namespace: fixture.namespace, ...metadata },
      spec: { ...spec },
    });
    const apply = (fieldManager: string, spec: object, force = false) =>
      client.patch<KubeObject & { readonly spec?: unknown }>(
        refOf("a"),
        { type: "apply", body: widget(spec), force },
        { fieldManager },
      );

    test("creates what is not there, joins what others declare, and takes back its own", async () => {
      expect((await apply("one", { size: 1, color: "red" })).spec).toEqual({ size: 1, color: "red" });
      expect((await apply("two", { shape: "round" })).spec).toEqual({ size: 1, color: "red", shape: "round" });
      const last = await apply("one", { size: 2 });
      expect(last.spec).toEqual({ size: 2, shape: "round" });
      expect(await client.get(refOf("a"))).toEqual(last);
    });

    test("the same again gives the same version", async () => {
      const first = await apply("one", { size: 1 });
      expect(await apply("one", { size: 1 })).toEqual(first);
    });

    test("what another manager owns is a conflict that names it and the fields, until it is forced", async () => {
      await apply("one", { size: 1 });
      const refused = apply("two", { size: 2 });
      await expect(refused).rejects.toSatisfy(isConflict);
      await expect(refused).rejects.toMatchObject({
        message: 'Apply failed with 1 conflict: conflict with "one": .spec.size',
        details: { causes: [{ reason: "FieldManagerConflict", field: ".spec.size" }] },
      });
      expect((await apply("two", { size: 2 }, true)).spec).toEqual({ size: 2 });
    });

    test("a dry run stores nothing", async () => {
      const options = { fieldManager: "one", dryRun: true };
      const dry = await client.patch(refOf("a"), { type: "apply", body: widget({ size: 1 }) }, options);
      expect(dry.metadata.name).toBe("a");
      await expect(client.get(refOf("a"))).rejects.toSatisfy(isNotFound);
    });

    test("a status is applied apart", async () => {
      await apply("one", { size: 1 });
      const body = { ...widget({ size: 9 }), status: { phase: "Ready" } };
      const options = { fieldManager: "two", subresource: "status" };
      const applied = await client.patch(refOf("a"), { type: "apply", body }, options);
      expect(applied).toMatchObject({ spec: { size: 1 }, status: { phase: "Ready" } });
    });

    test("a manager must be named", async () => {
      const unnamed = client.patch(refOf("a"), { type: "apply", body: widget({ size: 1 }) });
      await expect(unnamed).rejects.toMatchObject({ reason: "BadRequest", code: 400 });
    });
  });
}
