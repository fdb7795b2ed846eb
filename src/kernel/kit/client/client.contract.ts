// Long, because it is one contract: the same cases run against every client, so that none can lack one.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  apiVersionOf,
  ConfigMap,
  isAlreadyExists,
  isConflict,
  isGone,
  isInvalid,
  isNotFound,
  type KubeObject,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import type { ApiClient, WatchEvent, WatchOptions } from "./api-client.ts";

/** What the contract suite needs to run against one implementation. */
export interface ApiClientFixture {
  readonly client: ApiClient;
  /** An existing, empty namespace; another one for every test. */
  readonly namespace: string;
  /** A served, namespaced custom kind with a status subresource whose spec keeps any field. */
  readonly widgets: ResourceType;
  /** Makes the server forget every change so far, so that older revisions are expired. */
  compact(): Promise<void>;
  close(): Promise<void>;
}

type Widget = KubeObject & { readonly spec?: Readonly<Record<string, unknown>> };

/** The one suite every ApiClient passes, whatever is behind it. */
export function describeApiClient(name: string, make: () => Promise<ApiClientFixture>): void {
  describe(`ApiClient contract: ${name}`, () => {
    let fixture: ApiClientFixture;
    let client: ApiClient;
    let widgets: ResourceType;
    let namespace: string;

    beforeEach(async () => {
      fixture = await make();
      ({ client, widgets, namespace } = fixture);
    });
    afterEach(() => fixture.close());

    const widget = (
      name: string,
      more: Partial<Widget> & { readonly labels?: Record<string, string> } = {},
    ): Widget => {
      const { labels, ...rest } = more;
      const metadata = { name, namespace, ...(labels === undefined ? {} : { labels }) };
      return { apiVersion: apiVersionOf(widgets), kind: widgets.kind, metadata, spec: { size: 1 }, ...rest };
    };
    const create = (name: string, more: Parameters<typeof widget>[1] = {}) =>
      client.create(widgets, widget(name, more));
    const refOf = (name: string) => ({ type: widgets, namespace, name });
    const configMap = (name: string, data: Record<string, string>): KubeObject & { data: Record<string, string> } => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace },
      data,
    });

    describe("create and get", () => {
      test("a created object comes back with its server-owned metadata and is found by name", async () => {
        const created = await create("a");
        expect(created.metadata).toMatchObject({ name: "a", namespace, generation: 1 });
        expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
        expect(created.metadata.resourceVersion).toMatch(/^\d+$/);
        expect(created.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        expect(await client.get(refOf("a"))).toEqual(created);
      });

      test("answers are frozen to the bottom and the object given is left as it was", async () => {
        const given = widget("a", { spec: { list: [{ deep: true }] } });
        const created = await client.create(widgets, given);
        expect(Object.isFrozen(created.spec)).toBe(true);
        expect(Object.isFrozen((created.spec as { list: readonly unknown[] }).list[0])).toBe(true);
        expect(Object.isFrozen(given)).toBe(false);
        expect(given.metadata).toEqual({ name: "a", namespace });
      });

      test("fields that Slipway does not know are kept as they are", async () => {
        const spec = { size: 1, strange: { nested: [1, "two", null, { "a/b": false }] }, constructor: "text" };
        await create("a", { spec });
        expect((await client.get(refOf("a"))).spec).toEqual(spec);
      });

      test("a second object of the same name is refused as existing", async () => {
        await create("a");
        await expect(create("a")).rejects.toSatisfy(isAlreadyExists);
      });

      test("generateName makes different names with that beginning", async () => {
        const given = { ...widget("x"), metadata: { generateName: "gen-", namespace } };
        const names = await Promise.all([client.create(widgets, given), client.create(widgets, given)]);
        expect(new Set(names.map((object) => object.metadata.name)).size).toBe(2);
        for (const object of names) expect(object.metadata.name).toMatch(/^gen-[a-z0-9]+$/);
      });

      test("an object that does not exist is not found, and the refusal names it", async () => {
        const refused = client.get(refOf("missing"));
        await expect(refused).rejects.toSatisfy(isNotFound);
        await expect(refused).rejects.toThrow(/missing/);
      });

      test("an impossible name is refused as invalid", async () => {
        await expect(create("Not_A_Name")).rejects.toSatisfy(isInvalid);
      });

      test("an object in a namespace that does not exist is refused as not found", async () => {
        const stray = { ...widget("a"), metadata: { name: "a", namespace: "no-such-namespace" } };
        await expect(client.create(widgets, stray)).rejects.toSatisfy(isNotFound);
      });

      test("a status given at creation is dropped", async () => {
        expect((await create("a", { status: { phase: "Ready" } })).status).toBeUndefined();
      });

      test("a request whose signal is aborted fails and changes nothing", async () => {
        const signal = AbortSignal.abort(new Error("no longer wanted"));
        await expect(client.create(widgets, widget("a"), { signal })).rejects.toThrow("no longer wanted");
        await expect(client.get(refOf("a"))).rejects.toSatisfy(isNotFound);
      });
    });

    describe("list", () => {
      test("lists are ordered by name and carry a revision", async () => {
        for (const name of ["b", "a", "c"]) await create(name);
        const list = await client.list(widgets, { namespace });
        expect(namesOf(list.items)).toEqual(["a", "b", "c"]);
        expect(list.metadata.resourceVersion).toMatch(/^\d+$/);
      });

      test("items carry their apiVersion and kind", async () => {
        await create("a");
        const list = await client.list(widgets, { namespace });
        expect(list.items[0]).toMatchObject({ apiVersion: apiVersionOf(widgets), kind: widgets.kind });
      });

      test("a list of a namespace does not show others, a list without one shows all", async () => {
        await create("a");
        expect((await client.list(widgets, { namespace: "default" })).items).toEqual([]);
        const all = await client.list(widgets);
        expect(all.items.map((item) => item.metadata.namespace)).toContain(namespace);
      });

      test("empty options are as good as none", async () => {
        const made = await create("a");
        const empty = { namespace: "", labelSelector: "", fieldSelector: "", resourceVersion: "", continue: "" };
        const all = await client.list(widgets, empty);
        expect(all.items.map(({ metadata }) => metadata.uid)).toContain(made.metadata.uid);
        await create("heard-of");
        const seen = await collect(client, widgets, { ...from(all), namespace: "" }, 1);
        expect(namesOf(seen.map((event) => event.object))).toEqual(["heard-of"]);
      });

      test.each([
        ["tier=web", ["a", "b"]],
        ["tier!=web", ["c", "d"]],
        ["tier in (web, db)", ["a", "b", "c"]],
        ["tier notin (web)", ["c", "d"]],
        ["tier", ["a", "b", "c"]],
        ["!tier", ["d"]],
        ["tier=web,size=2", ["b"]],
      ])("the label selector %s finds %j", async (labelSelector, expected) => {
        await create("a", { labels: { tier: "web", size: "1" } });
        await create("b", { labels: { tier: "web", size: "2" } });
        await create("c", { labels: { tier: "db" } });
        await create("d");
        expect(namesOf((await client.list(widgets, { namespace, labelSelector })).items)).toEqual(expected);
      });

      test("field selectors find by name", async () => {
        for (const name of ["a", "b"]) await create(name);
        const one = await client.list(widgets, { namespace, fieldSelector: "metadata.name=b" });
        expect(namesOf(one.items)).toEqual(["b"]);
        const other = await client.list(widgets, { namespace, fieldSelector: "metadata.name!=b" });
        expect(namesOf(other.items)).toEqual(["a"]);
      });

      test("a selector that cannot be read is refused", async () => {
        await expect(client.list(widgets, { namespace, labelSelector: "a in (" })).rejects.toSatisfy(isInvalid);
      });

      test("pages show one revision, whatever is written between them", async () => {
        for (const name of ["a", "b", "c", "d", "e"]) await create(name);
        const first = await client.list(widgets, { namespace, limit: 2 });
        expect(namesOf(first.items)).toEqual(["a", "b"]);
        await client.delete(refOf("c"));
        await create("cc");
        const second = await client.list(widgets, { namespace, limit: 2, ...nextPage(first) });
        expect(namesOf(second.items)).toEqual(["c", "d"]);
        const third = await client.list(widgets, { namespace, limit: 2, ...nextPage(second) });
        expect(namesOf(third.items)).toEqual(["e"]);
        expect(third.metadata.continue ?? "").toBe("");
        expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
      });

      test("a page token of a forgotten revision is refused as gone", async () => {
        for (const name of ["a", "b", "c"]) await create(name);
        const first = await client.list(widgets, { namespace, limit: 1 });
        await create("d");
        await fixture.compact();
        await expect(client.list(widgets, { namespace, limit: 1, ...nextPage(first) })).rejects.toSatisfy(isGone);
      });
    });

    describe("update", () => {
      test("an update with the read version changes the object, its version and its generation", async () => {
        const created = await create("a");
        const updated = await client.update(widgets, { ...created, spec: { size: 2 } });
        expect(updated.spec).toEqual({ size: 2 });
        expect(updated.metadata.generation).toBe(2);
        expect(updated.metadata.uid).toBe(created.metadata.uid);
        expect(updated.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion);
      });

      test("of two updates with the same version exactly one wins", async () => {
        const created = await create("a");
        const results = await Promise.allSettled(
          [2, 3].map((size) => client.update(widgets, { ...created, spec: { size } })),
        );
        expect(results.map((result) => result.status).sort()).toEqual(["fulfilled", "rejected"]);
        const loser = results.find((result) => result.status === "rejected");
        expect(isConflict(loser?.reason)).toBe(true);
      });

      test("a custom object is not updated without a version", async () => {
        await create("a");
        await expect(client.update(widgets, widget("a", { spec: { size: 2 } }))).rejects.toSatisfy(isInvalid);
      });

      test("an update that changes nothing keeps the version", async () => {
        const created = await create("a");
        const updated = await client.update(widgets, created);
        expect(updated.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
      });

      test("labels change without a new generation", async () => {
        const created = await create("a");
        const metadata = { ...created.metadata, labels: { tier: "web" } };
        const updated = await client.update(widgets, { ...created, metadata });
        expect(updated.metadata).toMatchObject({ labels: { tier: "web" }, generation: 1 });
      });

      test("an object that does not exist is not created by an update", async () => {
        const created = await create("a");
        const metadata = { ...created.metadata, name: "b" };
        await expect(client.update(widgets, { ...created, metadata })).rejects.toSatisfy(isNotFound);
      });

      test("an update with the uid of an earlier object of that name is a conflict", async () => {
        const first = await create("a");
        await client.delete(refOf("a"));
        const second = await create("a");
        const metadata = { ...second.metadata, uid: first.metadata.uid };
        await expect(client.update(widgets, { ...second, metadata })).rejects.toSatisfy(isConflict);
      });
    });

    describe("status", () => {
      test("updateStatus changes only the status, update everything else", async () => {
        const created = await create("a");
        const withStatus = await client.updateStatus(widgets, {
          ...created,
          spec: { size: 9 },
          status: { phase: "Ready" },
        });
        expect(withStatus).toMatchObject({ spec: { size: 1 }, status: { phase: "Ready" } });
        expect(withStatus.metadata.generation).toBe(1);
        const updated = await client.update(widgets, { ...withStatus, spec: { size: 2 }, status: { phase: "Lost" } });
        expect(updated).toMatchObject({ spec: { size: 2 }, status: { phase: "Ready" } });
      });

      test("a status written with an old version is a conflict", async () => {
        const created = await create("a");
        await client.update(widgets, { ...created, spec: { size: 2 } });
        await expect(client.updateStatus(widgets, { ...created, status: {} })).rejects.toSatisfy(isConflict);
      });

      test("the status is patched through its subresource", async () => {
        await create("a");
        const body = { spec: { size: 9 }, status: { phase: "Ready" } };
        const patched = await client.patch(refOf("a"), { type: "merge", body }, { subresource: "status" });
        expect(patched).toMatchObject({ spec: { size: 1 }, status: { phase: "Ready" } });
      });
    });

    describe("patch", () => {
      test("a merge patch merges objects, removes what is null and replaces lists", async () => {
        await create("a", { spec: { keep: 1, drop: 2, list: [1, 2] } });
        const body = { spec: { drop: null, list: [3], add: { deep: true } } };
        const patched = await client.patch(refOf("a"), { type: "merge", body });
        expect(patched.spec).toEqual({ keep: 1, list: [3], add: { deep: true } });
        expect(patched.metadata.generation).toBe(2);
      });

      test("a JSON patch does its operations in order", async () => {
        await create("a", { spec: { list: ["x"] } });
        const patched = await client.patch(refOf("a"), {
          type: "json",
          operations: [
            { op: "test", path: "/spec/list/0", value: "x" },
            { op: "add", path: "/spec/list/-", value: "y" },
            { op: "replace", path: "/spec/list/0", value: "z" },
          ],
        });
        expect(patched.spec).toEqual({ list: ["z", "y"] });
      });

      test("a JSON patch whose test fails changes nothing", async () => {
        const created = await create("a");
        const operations = [
          { op: "replace", path: "/spec/size", value: 5 },
          { op: "test", path: "/spec/size", value: 7 },
        ] as const;
        await expect(client.patch(refOf("a"), { type: "json", operations })).rejects.toSatisfy(isInvalid);
        expect(await client.get(refOf("a"))).toEqual(created);
      });

      test("a version in a patch is a condition", async () => {
        const created = await create("a");
        const { resourceVersion } = created.metadata;
        const body = (size: number) => ({ metadata: { resourceVersion }, spec: { size } });
        await client.patch(refOf("a"), { type: "merge", body: body(2) });
        await expect(client.patch(refOf("a"), { type: "merge", body: body(3) })).rejects.toSatisfy(isConflict);
      });

      test("a patch of what does not exist is not found", async () => {
        await expect(client.patch(refOf("a"), { type: "merge", body: {} })).rejects.toSatisfy(isNotFound);
      });

      test("a patch may not change the name", async () => {
        await create("a");
        const body = { metadata: { name: "b" } };
        await expect(client.patch(refOf("a"), { type: "merge", body })).rejects.toSatisfy(isInvalid);
      });
    });

    describe("dryRun", () => {
      test("a dry run answers as if done and changes nothing", async () => {
        const dry = await client.create(widgets, widget("a"), { dryRun: true });
        expect(dry.metadata.name).toBe("a");
        await expect(client.get(refOf("a"))).rejects.toSatisfy(isNotFound);

        const created = await create("a");
        const updated = await client.update(widgets, { ...created, spec: { size: 2 } }, { dryRun: true });
        expect(updated.spec).toEqual({ size: 2 });
        const patched = await client.patch(
          refOf("a"),
          { type: "merge", body: { spec: { size: 3 } } },
          { dryRun: true },
        );
        expect(patched.spec).toEqual({ size: 3 });
        await client.delete(refOf("a"), { dryRun: true });
        expect(await client.get(refOf("a"))).toEqual(created);
      });
    });

    describe("delete", () => {
      test("a deleted object is gone and the answer is a success", async () => {
        await create("a");
        expect(await client.delete(refOf("a"))).toMatchObject({ kind: "Status", status: "Success" });
        await expect(client.get(refOf("a"))).rejects.toSatisfy(isNotFound);
        await expect(client.delete(refOf("a"))).rejects.toSatisfy(isNotFound);
      });

      test("preconditions on uid and version are kept", async () => {
        const created = await create("a");
        const wrong = { uid: "00000000-0000-4000-8000-00000000dead" };
        await expect(client.delete(refOf("a"), { preconditions: wrong })).rejects.toSatisfy(isConflict);
        await expect(client.delete(refOf("a"), { preconditions: { resourceVersion: "1" } })).rejects.toSatisfy(
          isConflict,
        );
        const { uid, resourceVersion } = created.metadata;
        await client.delete(refOf("a"), { preconditions: { uid, resourceVersion } });
      });

      test("an object with finalizers stays until the last one is removed", async () => {
        const given = widget("a");
        const finalizers = ["slipway.dev/one", "slipway.dev/two"];
        await client.create(widgets, { ...given, metadata: { ...given.metadata, finalizers } });
        const answer = await client.delete(refOf("a"));
        expect(answer).toMatchObject({ kind: widgets.kind, metadata: { deletionTimestamp: expect.any(String) } });
        const removeFirst = { type: "json", operations: [{ op: "remove", path: "/metadata/finalizers/0" }] } as const;
        await client.patch(refOf("a"), removeFirst);
        expect((await client.get(refOf("a"))).metadata.finalizers).toEqual(["slipway.dev/two"]);
        await client.patch(refOf("a"), removeFirst);
        await expect(client.get(refOf("a"))).rejects.toSatisfy(isNotFound);
      });

      test("no finalizer is added to an object that is being deleted", async () => {
        const given = widget("a");
        await client.create(widgets, { ...given, metadata: { ...given.metadata, finalizers: ["slipway.dev/one"] } });
        await client.delete(refOf("a"));
        const body = { metadata: { finalizers: ["slipway.dev/one", "slipway.dev/late"] } };
        await expect(client.patch(refOf("a"), { type: "merge", body })).rejects.toSatisfy(isInvalid);
      });

      test("deleteCollection removes what the selector finds and nothing else", async () => {
        await create("a", { labels: { go: "yes" } });
        await create("b", { labels: { go: "yes" } });
        await create("c");
        await client.deleteCollection(widgets, { namespace, labelSelector: "go=yes" });
        expect(namesOf((await client.list(widgets, { namespace })).items)).toEqual(["c"]);
      });

      test("what only a deleted object owned goes too", async () => {
        const owner = await create("owner");
        const { apiVersion, kind, metadata } = owner;
        const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true }];
        const child = widget("child");
        await client.create(widgets, { ...child, metadata: { ...child.metadata, ownerReferences } });
        const list = await client.list(widgets, { namespace });
        await client.delete(refOf("owner"), { propagationPolicy: "Background" });
        const seen = await collect(client, widgets, { ...from(list), namespace }, 2);
        expect(namesOf(seen.map((event) => event.object)).sort()).toEqual(["child", "owner"]);
        expect(seen.map((event) => event.type)).toEqual(["DELETED", "DELETED"]);
      });

      /** An object with one dependant, which blocks its end and has a finalizer of its own. */
      const family = async () => {
        const { apiVersion, kind, metadata } = await create("owner");
        const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid, blockOwnerDeletion: true };
        const child = widget("child");
        const finalizers = ["slipway.dev/one"];
        await client.create(widgets, {
          ...child,
          metadata: { ...child.metadata, ownerReferences: [owner], finalizers },
        });
        return client.list(widgets, { namespace });
      };

      test("in the foreground an object stays until what it owns is gone", async () => {
        const list = await family();
        const answer = await client.delete(refOf("owner"), { propagationPolicy: "Foreground" });
        expect(answer).toMatchObject({ metadata: { finalizers: ["foregroundDeletion"] } });
        // The owner begins to go, then the child does.
        const begun = await collect(client, widgets, { ...from(list), namespace }, 2);
        expect(begun.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
          "MODIFIED owner",
          "MODIFIED child",
        ]);
        for (const { object } of begun) expect(object.metadata.deletionTimestamp).toBeDefined();
        await client.patch(refOf("child"), { type: "merge", body: { metadata: { finalizers: null } } });
        const seen = await collect(client, widgets, { ...from(list), namespace }, 4);
        expect(seen.slice(2).map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
          "DELETED child",
          "DELETED owner",
        ]);
      });

      test("an orphan stays, and has no owner any more", async () => {
        const list = await family();
        const answer = await client.delete(refOf("owner"), { propagationPolicy: "Orphan" });
        expect(answer).toMatchObject({ metadata: { finalizers: ["orphan"] } });
        const seen = await collect(client, widgets, { ...from(list), namespace }, 3);
        expect(seen.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
          "MODIFIED owner",
          "MODIFIED child",
          "DELETED owner",
        ]);
        const { metadata } = await client.get(refOf("child"));
        expect(metadata.ownerReferences ?? []).toEqual([]);
        expect(metadata.deletionTimestamp).toBeUndefined();
      });
    });

    describe("watch", () => {
      test("a watch from a list's revision tells every later change once, in order", async () => {
        await create("before");
        const list = await client.list(widgets, { namespace });
        const created = await create("a");
        const updated = await client.update(widgets, { ...created, spec: { size: 2 } });
        await client.delete(refOf("a"));
        const seen = await collect(client, widgets, { ...from(list), namespace }, 3);
        expect(seen.map((event) => event.type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
        expect(seen[0]?.object).toEqual(created);
        expect(seen[1]?.object).toEqual(updated);
        expect(seen[2]?.object.spec).toEqual({ size: 2 });
        expect(Number(seen[2]?.object.metadata.resourceVersion)).toBeGreaterThan(
          Number(updated.metadata.resourceVersion),
        );
      });

      test("a watch hears of changes made after it began", async () => {
        const list = await client.list(widgets, { namespace });
        const heard = collect(client, widgets, { ...from(list), namespace }, 1);
        await create("late");
        expect(namesOf((await heard).map((event) => event.object))).toEqual(["late"]);
      });

      test("a watch without a revision begins with the present objects", async () => {
        await create("a");
        await create("b");
        const seen = await collect(client, widgets, { namespace }, 2);
        expect(seen.map((event) => [event.type, event.object.metadata.name])).toEqual([
          ["ADDED", "a"],
          ["ADDED", "b"],
        ]);
      });

      test("WatchList sends the present objects, then a bookmark that says so, then changes", async () => {
        await create("a");
        const options = { namespace, sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" } as const;
        const iterator = watching(client, widgets, { ...options, allowBookmarks: true });
        expect(await iterator.next()).toMatchObject({ type: "ADDED", object: { metadata: { name: "a" } } });
        const annotations = { "k8s.io/initial-events-end": "true" };
        const bookmark = await iterator.next();
        expect(bookmark).toMatchObject({ type: "BOOKMARK", object: { metadata: { annotations } } });
        expect(bookmark?.object.metadata.resourceVersion).toMatch(/^\d+$/);
        await create("b");
        expect(await iterator.next()).toMatchObject({ type: "ADDED", object: { metadata: { name: "b" } } });
        await iterator.close();
      });

      test("objects that begin or cease to match a selector are added and deleted", async () => {
        const list = await client.list(widgets, { namespace });
        const created = await create("a");
        const label = (tier: string | null) =>
          client.patch(refOf("a"), { type: "merge", body: { metadata: { labels: { tier } } } });
        await label("web");
        await label(null);
        const seen = await collect(client, widgets, { ...from(list), namespace, labelSelector: "tier=web" }, 2);
        expect(seen.map((event) => event.type)).toEqual(["ADDED", "DELETED"]);
        expect(seen[1]?.object.metadata.uid).toBe(created.metadata.uid);
      });

      test("a watch of one name hears of nothing else", async () => {
        const list = await client.list(widgets, { namespace });
        await create("a");
        await create("b");
        const seen = await collect(client, widgets, { ...from(list), namespace, fieldSelector: "metadata.name=b" }, 1);
        expect(namesOf(seen.map((event) => event.object))).toEqual(["b"]);
      });

      test("a watch from a forgotten revision is refused as gone", async () => {
        const list = await client.list(widgets, { namespace });
        await create("a");
        await create("b");
        await fixture.compact();
        await expect(collect(client, widgets, { ...from(list), namespace }, 1)).rejects.toSatisfy(isGone);
      });

      test("a watch returns without an error when its signal aborts", async () => {
        const abort = new AbortController();
        const list = await client.list(widgets, { namespace });
        const events: WatchEvent[] = [];
        const ended = (async () => {
          for await (const event of client.watch(widgets, { ...from(list), namespace, signal: abort.signal })) {
            events.push(event);
            abort.abort();
          }
        })();
        await create("a");
        await ended;
        expect(events).toHaveLength(1);
      });

      test("a watch that timed out ends normally, with a bookmark when asked", async () => {
        await create("a");
        const list = await client.list(widgets, { namespace });
        const options: WatchOptions = {
          ...from(list),
          namespace,
          timeout: 1000,
          allowBookmarks: true,
          signal: new AbortController().signal,
        };
        const events: WatchEvent[] = [];
        for await (const event of client.watch(widgets, options)) events.push(event);
        expect(events.at(-1)?.type).toBe("BOOKMARK");
        expect(Number(events.at(-1)?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
          Number(list.metadata.resourceVersion),
        );
      });
    });

    describe("built-in kinds and discovery", () => {
      test("a ConfigMap is updated without a version, whoever wrote it last", async () => {
        await client.create(ConfigMap, configMap("c", { a: "1" }));
        const updated = await client.update(ConfigMap, configMap("c", { a: "2" }));
        expect(updated.data).toEqual({ a: "2" });
      });

      test("kinds are found by apiVersion and kind", async () => {
        expect(await client.resourceType("v1", "ConfigMap")).toMatchObject({ plural: "configmaps", namespaced: true });
        expect(await client.resourceType("v1", "Namespace")).toMatchObject({ namespaced: false });
        const found = await client.resourceType(apiVersionOf(widgets), widgets.kind);
        expect(found).toMatchObject({ plural: widgets.plural, group: widgets.group, version: widgets.version });
        expect(await client.resourceType("nobody.example.org/v1", "Nothing")).toBeUndefined();
      });

      test("the list of all kinds has the built-in and the custom ones", async () => {
        const kinds = (await client.resourceTypes()).map((type) => `${apiVersionOf(type)} ${type.kind}`);
        expect(kinds).toEqual(
          expect.arrayContaining(["v1 ConfigMap", "v1 Pod", `${apiVersionOf(widgets)} ${widgets.kind}`]),
        );
      });

      test("a kind that is not served is not found", async () => {
        const unknown = { ...widgets, plural: "gadgets", kind: "Gadget" };
        await expect(client.list(unknown, { namespace })).rejects.toSatisfy(isNotFound);
      });

      test("raw answers with the text of any path", async () => {
        expect(JSON.parse(await client.raw("/version"))).toMatchObject({ major: "1" });
        await expect(client.raw("/no/such/path")).rejects.toSatisfy(isNotFound);
      });
    });
  });
}

const namesOf = (objects: readonly KubeObject[]): string[] => objects.map((object) => object.metadata.name ?? "");
const from = (list: { readonly metadata: { readonly resourceVersion: string } }) => ({
  resourceVersion: list.metadata.resourceVersion,
});
const nextPage = (list: { readonly metadata: { readonly continue?: string } }) => ({
  continue: list.metadata.continue ?? "",
});

/** One watch, read event by event. */
function watching(client: ApiClient, type: ResourceType, options: Omit<WatchOptions, "signal">) {
  const abort = new AbortController();
  const iterator = client.watch(type, { ...options, signal: abort.signal })[Symbol.asyncIterator]();
  return {
    async next(): Promise<WatchEvent | undefined> {
      const result = await iterator.next();
      return result.done === true ? undefined : result.value;
    },
    async close(): Promise<void> {
      abort.abort();
      await iterator.return?.();
    },
  };
}

/** The first `count` events that are no bookmarks. */
async function collect(
  client: ApiClient,
  type: ResourceType,
  options: Omit<WatchOptions, "signal">,
  count: number,
): Promise<(WatchEvent & { readonly object: Stored | KubeObject })[]> {
  const watch = watching(client, type, options);
  const events: WatchEvent[] = [];
  while (events.length < count) {
    const event = await watch.next();
    if (event === undefined) break;
    if (event.type !== "BOOKMARK") events.push(event);
  }
  await watch.close();
  return events;
}
