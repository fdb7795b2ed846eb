import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:http2";
import { expect, test } from "vitest";
import { linesOf } from "../log-store/testing/log-lines.ts";
import { framesOf } from "../worker-api/testing/line-frames.ts";
import { timeText } from "./line-json.ts";
import { eventsOf, withResultsApi } from "./testing/served-results.ts";

const at = "2026-01-31T12:00:00.5Z";
const line = (workerStepId: number, workerLogId: number, message = `${workerStepId}/${workerLogId}`): object => ({
  workerStepId,
  workerLogId,
  timestamp: at,
  message,
});
const put = (url: string, body: string): Promise<Response> => fetch(url, { method: "PUT", body });
const json = async (response: Promise<Response>): Promise<unknown> => (await response).json();

test("lines are put one by one or many at once, each once, and listed with their numbers", () =>
  withResultsApi(async ({ url }) => {
    expect(await json(put(`${url}/1/log`, JSON.stringify(line(1, 1))))).toEqual({ inserted: 1, duplicates: 0 });
    const array = JSON.stringify([line(1, 1), line(1, 3), { ...line(1, 4), timestamp: "noon" }, 7]);
    expect(await json(put(`${url}/1/logs`, array))).toEqual({
      inserted: 1,
      duplicates: 1,
      skipped: 2,
      problem: "line 4 of step 1: timestamp: expected a time as in 2026-01-31T12:00:00.123Z",
    });
    const text = [line(2, 1), line(1, 3)].map((one) => `${JSON.stringify(one)}\r\n\n`).join("");
    expect(await json(put(`${url}/1/logs?durable=1`, text))).toEqual({ inserted: 1, duplicates: 1, skipped: 0 });
    const posted = await fetch(`${url}/1/log`, {
      method: "POST",
      body: JSON.stringify({ message: "hi", timestamp: at }),
    });
    expect(posted.status).toBe(201);
    expect(await json(fetch(`${url}/1/log`))).toEqual([
      { logId: 1, buildId: 1, message: "1/1", timestamp: at, workerStepId: 1, workerLogId: 1 },
      { logId: 2, buildId: 1, message: "1/3", timestamp: at, workerStepId: 1, workerLogId: 3 },
      { logId: 3, buildId: 1, message: "2/1", timestamp: at, workerStepId: 2, workerLogId: 1 },
      { logId: 4, buildId: 1, message: "hi", timestamp: at, workerStepId: 0, workerLogId: 0 },
    ]);
    expect(await json(fetch(`${url}/1/log/cursor`))).toEqual([
      { workerStepId: 0, lastWorkerLogId: 0 },
      { workerStepId: 1, lastWorkerLogId: 1 },
      { workerStepId: 2, lastWorkerLogId: 1 },
    ]);
    expect(await json(fetch(`${url}/2/log`))).toEqual([]);
  }));

test("lines are put as a worker sends them, and what cannot be kept of them is told", () =>
  withResultsApi(async ({ url, logs }) => {
    const send = (body: Buffer) =>
      fetch(`${url}/1/logs?durable=1`, {
        method: "PUT",
        body,
        headers: { "content-type": "application/x-wharf-lines" },
      });
    const time = { seconds: 1_769_860_800, nanos: 500_000_000 };
    const lines = [1, 2, 3].map((logId) => ({ stepId: 1, logId, time, message: `ö ${logId}` }));
    const long = { stepId: 2, logId: 1, time, message: "x".repeat(4 * 1024 * 1024 + 1) };
    const far = { stepId: 2, logId: 2 ** 60, time, message: "" };
    const { bytes } = framesOf([...lines, long, far, { ...far, logId: 3 }]);
    expect(await json(send(bytes))).toEqual({
      inserted: 4,
      duplicates: 0,
      skipped: 2,
      problem: "line 1 of step 2: message: expected at most 4194304 bytes",
    });
    expect(await json(send(framesOf(lines).bytes))).toEqual({ inserted: 0, duplicates: 3, skipped: 0 });
    expect(await json(fetch(`${url}/1/log?stepId=1&after=2`))).toMatchObject([{ message: "ö 3", timestamp: at }]);
    const [broken] = framesOf([{ stepId: 3, logId: 1, time, message: "ab" }])
      .bytes.toString("latin1")
      .split("b");
    expect(await json(send(Buffer.from(`${broken}\xff`, "latin1")))).toMatchObject({ inserted: 1 });
    expect(await json(fetch(`${url}/1/log?stepId=3`))).toMatchObject([{ message: "a\ufffd" }]);
    // Each of these bytes would be kept as three, and a line of that length could not be read again.
    const [head = "", tail] = framesOf([{ stepId: 4, logId: 1, time, message: "b".repeat(2 * 1024 * 1024) }])
      .bytes.toString("latin1")
      .split(/b+/);
    const swollen = Buffer.from(`${head}${"\xff".repeat(2 * 1024 * 1024)}${tail}`, "latin1");
    expect(await json(send(swollen))).toMatchObject({ inserted: 0, skipped: 1 });
    const { lines: kept } = await logs.counts(1);
    for (const wrong of [Buffer.from('{"message":"x"}'), bytes.subarray(0, 20), Buffer.from([0, 0, 0, 0, 1, 0x0b])])
      expect(await json(send(wrong))).toMatchObject({ type: "/prob/api/unexpected-body-read-error", status: 400 });
    expect(await logs.counts(1)).toMatchObject({ lines: kept });
  }));

test("lists are cut by step, place and length, as an array, indented, or as lines", () =>
  withResultsApi(async ({ url, logs }) => {
    await logs.insert(1, [...linesOf(1, 501, 2000), ...linesOf(2, 1, 3), ...linesOf(1, 1, 500)]);
    const ids = async (query: string): Promise<unknown> =>
      ((await json(fetch(`${url}/1/log?${query}`))) as { logId: number; workerLogId: number }[]).map(
        ({ logId, workerLogId }) => `${logId}:${workerLogId}`,
      );
    expect(await ids("after=1499&limit=3")).toEqual(["1500:2000", "1501:1", "1502:2"]);
    expect(await ids("stepId=1&limit=2")).toEqual(["1504:1", "1505:2"]);
    expect(await ids("stepId=1&after=499&limit=3")).toEqual(["2003:500", "1:501", "2:502"]);
    expect(await ids("stepId=9")).toEqual([]);
    expect(((await ids("")) as string[]).length).toBe(2003);
    const lines = await fetch(`${url}/1/log?stepId=2`, { headers: { accept: "application/x-ndjson" } });
    expect(
      (await lines.text())
        .trim()
        .split("\n")
        .map((text) => (JSON.parse(text) as { message: string }).message),
    ).toEqual(["step 2 line 1", "step 2 line 2", "step 2 line 3"]);
    const indented = await (await fetch(`${url}/1/log?stepId=2&pretty`)).text();
    expect(indented).toBe(JSON.stringify(JSON.parse(indented), undefined, 2));
    expect(await (await fetch(`${url}/2/log?pretty`)).text()).toBe("[]");
  }));

test.each([
  ["PUT", "/9/log", "{}", 404, "record-not-found"],
  ["PUT", "/0/logs", "", 404, "record-not-found"],
  ["GET", "/x/log", undefined, 400, "invalid-param-uint"],
  ["GET", "/1/log?after=-1", undefined, 400, "invalid-param-uint"],
  ["GET", "/9/stream", undefined, 404, "record-not-found"],
  ["GET", "/1/stream?after=x", undefined, 400, "invalid-param-uint"],
  ["PUT", "/1/log", "{", 400, "invalid-param"],
  ["PUT", "/1/log", '{"message":"x"}', 400, "invalid-param"],
  ["PUT", "/1/log", JSON.stringify({ ...line(1, 1), workerLogId: -1 }), 400, "invalid-param"],
  ["PUT", "/1/logs", `${JSON.stringify(line(1, 1))}\nnonsense\n`, 400, "unexpected-body-read-error"],
  ["PUT", "/1/logs", "[1", 400, "unexpected-body-read-error"],
])("%s %s is refused where it is wrong", (method, path, body, status, kind) =>
  withResultsApi(async ({ url }) => {
    const response = await fetch(`${url}${path}`, { method, ...(body === undefined ? {} : { body }) });
    expect({ status: response.status, ...((await response.json()) as object) }).toMatchObject({
      status,
      type: `/prob/api/${kind}`,
    });
  }),
);

test("a status may be told where lines are", () =>
  withResultsApi(async ({ url, builds }) => {
    await fetch(`${url}/1/log`, { method: "POST", body: JSON.stringify({ status: "Running" }) });
    expect(builds.told).toEqual(["1 Running"]);
  }));

test("a reader who comes and goes sees every line once, in order, and the end", () =>
  withResultsApi(async ({ url, logs, builds }) => {
    const total = 3000;
    const writing = (async () => {
      for (let from = 1; from <= total; from += 50) {
        await logs.insert(1, linesOf((from % 3) + 1, from, from + 49));
        await new Promise(setImmediate);
      }
      builds.end(1);
    })();
    const seen: number[] = [];
    let isOver = false;
    for (let visit = 1; !isOver; visit++) {
      const known = seen.at(-1);
      const leaving = new AbortController();
      const response = await fetch(`${url}/1/stream${known === undefined ? "?after=0" : ""}`, {
        signal: leaving.signal,
        headers: known === undefined ? {} : { "last-event-id": `${known}` },
      });
      expect(response.headers.get("content-type")).toBe("text/event-stream");
      let left = 97 * visit;
      for await (const { event, id, data } of eventsOf(response)) {
        isOver = event === "end";
        if (isOver) break;
        expect(data["logId"]).toBe(id);
        seen.push(id);
        if (--left === 0) break;
      }
      leaving.abort();
    }
    await writing;
    expect(seen).toEqual(Array.from({ length: total }, (_, at) => at + 1));
    await expect.poll(() => builds.waiting(1)).toBe(0);
  }));

test("a reader who does not say where begins with what comes; one beyond the end waits for it", () =>
  withResultsApi(async ({ url, logs, builds }) => {
    await logs.insert(1, linesOf(1, 1, 10));
    const responses = await Promise.all([fetch(`${url}/1/stream`), fetch(`${url}/1/stream?after=4000`)]);
    await expect.poll(() => builds.waiting(1)).toBe(2);
    await logs.insert(1, linesOf(1, 11, 12));
    builds.end(1);
    for (const response of responses) {
      const ids: (number | string)[] = [];
      for await (const { event, id } of eventsOf(response)) ids.push(event === "end" ? event : id);
      expect(ids).toEqual([11, 12, "end"]);
    }
  }));

test("lines that came before a caller broke off are kept, and come once when they are sent again", () =>
  withResultsApi(async ({ url, logs }) => {
    const { port } = new URL(url);
    const call = request({ port, path: "/api/build/1/logs", method: "PUT", headers: { "content-length": 10_000 } });
    call.on("error", () => undefined);
    call.write(`${JSON.stringify(line(1, 1))}\n${JSON.stringify(line(1, 2)).slice(0, 20)}`);
    await expect.poll(async () => (await logs.counts(1)).lines).toBe(1);
    call.destroy();
    const all = [line(1, 1), line(1, 2)].map((one) => JSON.stringify(one)).join("\n");
    expect(await json(put(`${url}/1/logs`, all))).toEqual({ inserted: 1, duplicates: 1, skipped: 0 });
  }));

test("lines and files are taken over HTTP/2 as well", () =>
  withResultsApi(async ({ url, artifacts, logs }) => {
    const client = connect(new URL(url).origin);
    const send = async (method: string, path: string, body: string, headers = {}): Promise<number> => {
      const stream = client.request({ ":method": method, ":path": `/api/build/1${path}`, ...headers });
      stream.end(body);
      const [answer] = (await once(stream, "response")) as [{ readonly ":status": number }];
      stream.resume();
      await once(stream, "close");
      return answer[":status"];
    };
    try {
      expect(await send("PUT", "/logs?durable=1", JSON.stringify(line(1, 1)))).toBe(200);
      const form = '--x\r\ncontent-disposition: form-data; name="files"; filename="a"\r\n\r\nbytes\r\n--x--\r\n';
      const headers = { "content-type": "multipart/form-data; boundary=x" };
      expect(await send("POST", "/artifact", form, headers)).toBe(201);
    } finally {
      client.close();
    }
    expect(await logs.counts(1)).toMatchObject({ lines: 1 });
    expect(artifacts.list(1)).toMatchObject([{ fileName: "a", size: 5 }]);
  }));

test("times keep their nanoseconds", () => {
  expect(timeText({ seconds: 0, nanos: 1 })).toBe("1970-01-01T00:00:00.000000001Z");
  expect(timeText({ seconds: -62_135_596_800, nanos: 0 })).toBe("0001-01-01T00:00:00Z");
  expect(timeText({ seconds: 1, nanos: 120_000_000 })).toBe("1970-01-01T00:00:01.12Z");
});
