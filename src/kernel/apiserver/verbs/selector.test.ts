import { describe, expect, test } from "vitest";
import { ApiError } from "#kernel/model/index.ts";
import type { JsonObject } from "#lib/base/index.ts";
import { createRegistry } from "../crds/registry.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { memoryStore } from "../store/open.ts";
import type { Entry } from "../store/store.ts";
import { defaultLimits } from "./limits.ts";
import { type SelectorRequest, selectorOf } from "./selector.ts";

const registry = createRegistry({ now: () => 0 });
const served = (plural: string): ServedResource => {
  const found = registry.find("", "v1", plural);
  if (found === undefined) throw new Error(plural);
  return found;
};
const select = (request: SelectorRequest, plural = "pods") => selectorOf(request, served(plural), defaultLimits);

function podIn(namespace: string, name: string, labels: Record<string, string>): Promise<Entry> {
  const metadata = { name, namespace, uid: name, creationTimestamp: "2026-01-01T00:00:00Z", labels };
  const object: JsonObject = { apiVersion: "v1", kind: "Pod", metadata, status: { phase: "Running" } };
  const key = { group: "", resource: "pods", namespace, name };
  return memoryStore().write((transaction) => transaction.put(key, object));
}

describe("what a list or watch is about", () => {
  test.each<[SelectorRequest, boolean]>([
    [{}, true],
    [{ namespace: "" }, true],
    [{ namespace: "n" }, true],
    [{ namespace: "m" }, false],
    [{ labelSelector: "app=web" }, true],
    [{ labelSelector: "app!=web" }, false],
    [{ fieldSelector: "metadata.name=p" }, true],
    [{ fieldSelector: "status.phase=Failed" }, false],
    [{ namespace: "n", labelSelector: "app", fieldSelector: "status.phase=Running" }, true],
    [{ namespace: "n", labelSelector: "!app", fieldSelector: "status.phase=Running" }, false],
  ])("%j selects the Pod: %j", async (request, expected) => {
    expect(select(request).matches(await podIn("n", "p", { app: "web" }))).toBe(expected);
  });

  test("everything is selected only without conditions on labels and fields", () => {
    expect(select({ namespace: "n" }).everything).toBe(true);
    expect(select({ labelSelector: " ", fieldSelector: "," }).everything).toBe(true);
    expect(select({ labelSelector: "a" }).everything).toBe(false);
    expect(select({ fieldSelector: "metadata.name!=x" }).everything).toBe(false);
  });

  test("the namespace of a cluster-scoped kind means nothing", () => {
    expect(select({ namespace: "n" }, "namespaces").namespace).toBeUndefined();
  });

  test("work is shared between equal requests only", () => {
    const key = (request: SelectorRequest) => select(request).key;
    expect(key({ labelSelector: "a" })).toBe(key({ namespace: "", labelSelector: "a" }));
    expect(key({ labelSelector: "a" })).not.toBe(key({ namespace: "n", labelSelector: "a" }));
    expect(key({ labelSelector: "status.phase" })).not.toBe(key({ fieldSelector: "status.phase=" }));
  });

  test.each<[SelectorRequest, string]>([
    [
      { labelSelector: "a in (" },
      'unable to parse the label selector "a in (": expected "," or ")" at character 7, found the end',
    ],
    [{ fieldSelector: "a" }, 'unable to parse the field selector: expected field=value or field!=value, found "a"'],
    [{ fieldSelector: "spec.containers=x" }, "field label not supported: spec.containers"],
    [{ labelSelector: "a".repeat(4097) }, "the label selector is longer than 4096 characters"],
    [{ fieldSelector: "a".repeat(4097) }, "the field selector is longer than 4096 characters"],
  ])("a bad request is refused", (request, message) => {
    expect(() => select(request)).toThrow(new ApiError("BadRequest", message));
  });
});
