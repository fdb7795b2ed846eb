import { describe, expect, test } from "vitest";
import { isStatus, refusalInEvent, refusalOf } from "./refused-answer.ts";

const status = (more: object = {}): string =>
  JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code: 404, ...more });

describe("a refusal", () => {
  test("says what its Status says", () => {
    const body = status({
      reason: "Conflict",
      code: 409,
      message: "changed",
      details: { name: "a", causes: [{ field: "x" }] },
    });
    expect(refusalOf(409, body, undefined)).toMatchObject({
      reason: "Conflict",
      code: 409,
      message: "changed",
      details: { name: "a", causes: [{ field: "x" }] },
    });
  });

  test.each([
    [404, { reason: "" }, "NotFound"],
    [404, {}, "NotFound"],
    [418, { code: 418 }, "BadRequest"],
    [599, { code: 599 }, "InternalError"],
  ])("of %d whose Status gives no reason (%j) is %s", (code, more, reason) => {
    expect(refusalOf(code, status(more), undefined).reason).toBe(reason);
  });

  test.each([
    [400, "BadRequest"],
    [401, "Unauthorized"],
    [403, "Forbidden"],
    [404, "NotFound"],
    [405, "MethodNotAllowed"],
    [406, "NotAcceptable"],
    [409, "Conflict"],
    [410, "Gone"],
    [413, "RequestEntityTooLarge"],
    [415, "UnsupportedMediaType"],
    [422, "Invalid"],
    [429, "TooManyRequests"],
    [500, "InternalError"],
    [501, "NotImplemented"],
    [502, "InternalError"],
    [503, "ServiceUnavailable"],
    [504, "Timeout"],
    [302, "BadRequest"],
  ])("of %d without a Status is %s", (code, reason) => {
    expect(refusalOf(code, "", undefined)).toMatchObject({ code, reason, message: `the server answered ${code}` });
  });

  test.each([
    ["<html>login</html>", "the server answered 403: <html>login</html>"],
    ["  spaces  ", "the server answered 403: spaces"],
    ["x".repeat(500), `the server answered 403: ${"x".repeat(200)}`],
    ['{"kind":"Status","apiVersion":"v2"}', 'the server answered 403: {"kind":"Status","apiVersion":"v2"}'],
    ['"Status"', 'the server answered 403: "Status"'],
  ])("of a proxy that answers %j shows enough of it", (body, message) => {
    expect(refusalOf(403, body, undefined).message).toBe(message);
  });

  test.each([
    ["7", {}, 7],
    ["7", { details: { retryAfterSeconds: 3 } }, 3],
    ["0", {}, 0],
    [undefined, {}, undefined],
    ["Wed, 21 Oct 2026 07:28:00 GMT", {}, undefined],
    ["-1", {}, undefined],
    ["1e3", {}, undefined],
    ["9999999", {}, undefined],
  ])("with Retry-After %j and %j asks to come back after %j", (header, more, seconds) => {
    expect(refusalOf(429, status({ code: 429, ...more }), header).details.retryAfterSeconds).toBe(seconds);
  });
});

test("a refusal in an event is a Status or none", () => {
  expect(refusalInEvent(JSON.parse(status({ code: 410, reason: "Expired" })))).toMatchObject({ reason: "Expired" });
  for (const other of [undefined, null, "Status", {}, [], { kind: "Status" }])
    expect(refusalInEvent(other)).toBeUndefined();
});

test("a Status is known by its kind and version, whatever it says", () => {
  expect(isStatus({ kind: "Status", apiVersion: "v1", status: "Success" })).toBe(true);
  expect(isStatus({ kind: "Pod", apiVersion: "v1" })).toBe(false);
});
