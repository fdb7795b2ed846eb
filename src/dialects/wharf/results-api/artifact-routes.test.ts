import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ServedResults, withResultsApi } from "./testing/served-results.ts";

const sha256 = (text: string) => createHash("sha256").update(text);
const digestOf = (text: string): string => `sha-256=${sha256(text).digest("base64")}`;
const form = (...files: readonly (readonly [string, string])[]): FormData => {
  const data = new FormData();
  for (const [name, text] of files) data.append("files", new File([text], name));
  return data;
};
const post = (url: string, body: FormData | string): Promise<Response> => fetch(url, { method: "POST", body });
const put = (url: string, body: string, digest: string): Promise<Response> =>
  fetch(url, { method: "PUT", body, headers: { digest, "content-type": "text/x-made-up" } });
const stored = async ({ directory }: ServedResults): Promise<number> => {
  const names = await readdir(join(directory, "artifacts", "content"));
  return names.length - 1 + (await readdir(join(directory, "artifacts", "content", ".parts"))).length;
};

test("files of a form are listed, and downloaded whole, in part, or not at all when they are known", () =>
  withResultsApi(async ({ url }) => {
    const posted = await post(`${url}/1/artifact`, form(["a.txt", "first"], ["b.bin", "second"]));
    expect(posted.status).toBe(201);
    const listed = (await (await fetch(`${url}/1/artifact?orderby=artifactId+asc`)).json()) as { list: object[] };
    expect(listed).toMatchObject({
      totalCount: 2,
      list: [
        { artifactId: 1, buildId: 1, name: "files", fileName: "a.txt", size: 5, sha256: sha256("first").digest("hex") },
        { artifactId: 2, buildId: 1, name: "files", fileName: "b.bin", size: 6, stepId: 0, workerArtifactId: 0 },
      ],
    });
    expect(await posted.json()).toEqual(listed.list);
    const get = (headers: Record<string, string> = {}): Promise<Response> => fetch(`${url}/1/artifact/1`, { headers });
    const whole = await get();
    expect([await whole.text(), whole.headers.get("etag"), whole.headers.get("content-disposition")]).toEqual([
      "first",
      `"${sha256("first").digest("hex")}"`,
      `attachment; filename="a.txt"; filename*=UTF-8''a.txt`,
    ]);
    for (const [range, status, text] of [
      ["bytes=0-0", 206, "f"],
      ["bytes=-2", 206, "st"],
      ["bytes=3-", 206, "st"],
      ["bytes=0-0,2-2", 200, "first"],
    ] as const) {
      const part = await get({ range });
      expect([range, part.status, await part.text()]).toEqual([range, status, text]);
    }
    expect((await get({ range: "bytes=9-" })).status).toBe(416);
    expect((await get({ "if-none-match": whole.headers.get("etag") ?? "" })).status).toBe(304);
  }));

test("what a worker brings under its number is there once, however often it is brought", () =>
  withResultsApi(async (served) => {
    const { url } = served;
    const path = `${url}/1/artifact/2/7?name=${encodeURIComponent("dist/å.txt")}`;
    const first = await put(path, "bytes", digestOf("bytes"));
    expect(first.status).toBe(201);
    const artifact = await first.json();
    expect(artifact).toMatchObject({
      artifactId: 1,
      name: "dist/å.txt",
      fileName: "å.txt",
      stepId: 2,
      workerArtifactId: 7,
    });
    const again = await put(path, "bytes", `sha-256=${sha256("bytes").digest("hex")}`);
    expect([again.status, await again.json()]).toEqual([200, artifact]);
    expect((await put(path, "other", digestOf("other"))).status).toBe(409);
    expect(await stored(served)).toBe(1);
  }));

test.each([
  ["another digest", "/1/artifact/1/1?name=a", digestOf("other"), 400, "invalid-param"],
  ["no digest", "/1/artifact/1/1?name=a", "", 400, "missing-param-string"],
  ["half a digest", "/1/artifact/1/1?name=a", "sha-256=abc", 400, "invalid-param"],
  ["no name", "/1/artifact/1/1", digestOf("bytes"), 400, "missing-param-string"],
  ["a number that is none", "/1/artifact/1/x?name=a", digestOf("bytes"), 400, "invalid-param-uint"],
  ["the number 0", "/1/artifact/1/0?name=a", digestOf("bytes"), 400, "invalid-param-uint"],
  ["a build that is not there", "/9/artifact/1/1?name=a", digestOf("bytes"), 404, "record-not-found"],
])("%s: nothing is stored", (_what, path, digest, status, kind) =>
  withResultsApi(async (served) => {
    const response = await put(`${served.url}${path}`, "bytes", digest);
    expect({ status: response.status, ...((await response.json()) as object) }).toMatchObject({
      status,
      type: `/prob/api/${kind}`,
    });
    expect(await stored(served)).toBe(0);
    expect(served.artifacts.list(1)).toEqual([]);
  }),
);

test.each(["PUT", "POST"])("nothing is seen of an upload that breaks off (%s)", (method) =>
  withResultsApi(async (served) => {
    const { port } = new URL(served.url);
    const path = method === "PUT" ? "/api/build/1/artifact/1/1?name=a" : "/api/build/1/artifact";
    const part = (name: string): string =>
      `--x\r\ncontent-disposition: form-data; name="files"; filename="${name}"\r\n\r\nbytes\r\n`;
    const headers = {
      digest: digestOf("bytes"),
      ...(method === "POST" ? { "content-type": "multipart/form-data; boundary=x" } : {}),
    };
    const call = request({ port, path, method, headers: { ...headers, "content-length": 10_000 } });
    call.on("error", () => undefined);
    call.write(method === "PUT" ? "bytes" : part("a") + part("b"));
    await expect.poll(() => readdir(join(served.directory, "artifacts", "content", ".parts"))).not.toEqual([]);
    call.destroy();
    await expect.poll(() => stored(served)).toBe(0);
    expect(served.artifacts.list(1)).toEqual([]);
  }),
);

test.each([
  ["text", "no form"],
  ["no files", form()],
])("%s is no form with files", (_what, body) =>
  withResultsApi(async ({ url }) => {
    const response = await post(`${url}/1/artifact`, body);
    expect(await response.json()).toMatchObject({ status: 400, type: "/prob/api/unexpected-multipart-read-error" });
  }),
);

const junit = '<testsuite><testcase name="a"/><testcase name="b"><failure message="no"/></testcase></testsuite>';
const trx =
  '<TestRun><Results><UnitTestResult testName="c" outcome="NotExecuted"/></Results>' +
  '<ResultSummary><Counters total="1" passed="0" failed="0" notExecuted="1"/></ResultSummary></TestRun>';

test("results of tests are counted by file and by build, and told one by one", () =>
  withResultsApi(async ({ url }) => {
    const get = async (path: string): Promise<unknown> => (await fetch(`${url}/1${path}`)).json();
    expect(await get("/tests-results")).toEqual({ passed: 0, failed: 0, status: "No tests" });
    await post(`${url}/1/artifact`, form(["other", "x"]));
    const time = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    const posted = await post(`${url}/1/test-result`, form(["j.xml", junit], ["t.trx", trx]));
    expect([posted.status, await posted.json()]).toMatchObject([
      200,
      [
        { fileName: "j.xml", artifactId: 2, createdAt: time, updatedAt: time },
        { fileName: "t.trx", artifactId: 3, createdAt: time, updatedAt: time },
      ],
    ]);
    const first = {
      createdAt: time,
      updatedAt: time,
      testResultSummaryId: 2,
      fileName: "j.xml",
      artifactId: 2,
      buildId: 1,
      total: 2,
      failed: 1,
      passed: 1,
      skipped: 0,
    };
    const second = {
      ...first,
      testResultSummaryId: 3,
      fileName: "t.trx",
      artifactId: 3,
      total: 1,
      failed: 0,
      passed: 0,
      skipped: 1,
    };
    expect(await get("/test-result/summary")).toEqual({ list: [second, first], totalCount: 2 });
    expect(await get("/test-result/summary/2")).toEqual(first);
    expect(await get("/test-result/summary/1")).toMatchObject({ status: 404 });
    expect(await get("/test-result/list-summary")).toEqual({ buildId: 1, total: 3, failed: 1, passed: 1, skipped: 1 });
    expect(await get("/tests-results")).toEqual({ passed: 1, failed: 1, status: "Failed" });
    const noTimes = { createdAt: time, updatedAt: time, buildId: 1, startedOn: null, completedOn: null };
    const third = { ...noTimes, testResultDetailId: 3, artifactId: 3, name: "c", message: "", status: "Skipped" };
    expect(await get("/test-result/detail")).toEqual({
      list: [
        { ...noTimes, testResultDetailId: 1, artifactId: 2, name: "a", message: null, status: "Success" },
        { ...noTimes, testResultDetailId: 2, artifactId: 2, name: "b", message: "no", status: "Failed" },
        third,
      ],
      totalCount: 3,
    });
    expect(await get("/test-result/summary/3/detail")).toEqual({ list: [third], totalCount: 1 });
  }));

test("a file that has no test results is refused, and kept", () =>
  withResultsApi(async ({ url, artifacts }) => {
    const response = await post(`${url}/1/test-result`, form(["t.trx", "<html/>"]));
    expect(await response.json()).toMatchObject({ status: 400, type: "/prob/api/test-results-parse" });
    expect(artifacts.list(1)).toMatchObject([{ fileName: "t.trx", size: 7 }]);
    expect(artifacts.list(1)[0]).not.toHaveProperty("tests");
  }));
