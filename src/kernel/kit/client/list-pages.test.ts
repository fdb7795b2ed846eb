import { describe, expect, test } from "vitest";
import { ApiError, type ObjectList, type Stored } from "#kernel/model/index.ts";
import { pageSize, readAllPages } from "./list-pages.ts";

const item = (name: string): Stored => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, uid: name, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
});
const page = (revision: string, names: readonly string[], token?: string): ObjectList<Stored> => ({
  apiVersion: "v1",
  kind: "PodList",
  metadata: { resourceVersion: revision, ...(token === undefined ? {} : { continue: token, remainingItemCount: 9 }) },
  items: names.map(item),
});
const expired = new ApiError("Expired", "too old");
const names = (list: ObjectList<Stored>): readonly string[] => list.items.map(({ metadata }) => metadata.name);

/** Answers one request after another as told, and remembers what was asked for. */
function server(answers: readonly (ObjectList<Stored> | Error)[]) {
  const asked: unknown[] = [];
  const left = [...answers];
  const readPage = (request: object): Promise<ObjectList<Stored>> => {
    asked.push(request);
    const answer = left.shift() ?? new Error("asked once more than expected");
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  return { asked, readPage };
}

describe("a listing", () => {
  test("of one page is that page", async () => {
    const only = page("7", ["a"]);
    const { asked, readPage } = server([only]);
    expect(await readAllPages(readPage)).toBe(only);
    expect(asked).toEqual([{ limit: pageSize, isFirst: true }]);
  });

  test("of several pages is one list at the revision of the first, without a token", async () => {
    const { asked, readPage } = server([page("7", ["a", "b"], "t1"), page("7", [], "t2"), page("7", ["c"])]);
    const list = await readAllPages(readPage);
    expect(names(list)).toEqual(["a", "b", "c"]);
    expect(list.metadata).toEqual({ resourceVersion: "7" });
    expect(Object.isFrozen(list) && Object.isFrozen(list.items) && Object.isFrozen(list.metadata)).toBe(true);
    expect(asked.slice(1)).toEqual([
      { limit: pageSize, continue: "t1", isFirst: false },
      { limit: pageSize, continue: "t2", isFirst: false },
    ]);
  });

  test("whose revision is forgotten on the way begins again, and mixes nothing", async () => {
    const { asked, readPage } = server([page("7", ["a"], "t1"), expired, page("9", ["b"], "t2"), page("9", ["c"])]);
    const list = await readAllPages(readPage);
    expect(names(list)).toEqual(["b", "c"]);
    expect(list.metadata.resourceVersion).toBe("9");
    expect(asked).toHaveLength(4);
  });

  test("that never comes to its end in time is asked for in one piece", async () => {
    const lap = [page("7", ["a"], "t"), expired];
    const whole = page("9", ["a", "b"]);
    const { asked, readPage } = server([...lap, ...lap, ...lap, whole]);
    expect(await readAllPages(readPage)).toBe(whole);
    expect(asked.at(-1)).toEqual({ isFirst: true });
  });

  test("that fails for another reason fails with it, at once", async () => {
    const failure = new ApiError("Forbidden", "no");
    const { asked, readPage } = server([page("7", ["a"], "t"), failure]);
    await expect(readAllPages(readPage)).rejects.toBe(failure);
    expect(asked).toHaveLength(2);
  });
});
