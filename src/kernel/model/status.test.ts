import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ApiError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  isTransient,
  type Status,
  type StatusReason,
} from "./status.ts";

const codes: readonly (readonly [StatusReason, number])[] = [
  ["BadRequest", 400],
  ["Unauthorized", 401],
  ["Forbidden", 403],
  ["NotFound", 404],
  ["MethodNotAllowed", 405],
  ["NotAcceptable", 406],
  ["AlreadyExists", 409],
  ["Conflict", 409],
  ["Expired", 410],
  ["Gone", 410],
  ["RequestEntityTooLarge", 413],
  ["UnsupportedMediaType", 415],
  ["Invalid", 422],
  ["TooManyRequests", 429],
  ["InternalError", 500],
  ["ServerTimeout", 500],
  ["NotImplemented", 501],
  ["ServiceUnavailable", 503],
  ["Timeout", 504],
];

test.each(codes)("%s is HTTP %d", (reason, code) => {
  expect(new ApiError(reason, "no").code).toBe(code);
});

describe("questions about a refusal", () => {
  const questions = { isNotFound, isAlreadyExists, isConflict, isGone, isInvalid, isForbidden, isTransient };
  const expected: Readonly<Record<keyof typeof questions, readonly StatusReason[]>> = {
    isNotFound: ["NotFound"],
    isAlreadyExists: ["AlreadyExists"],
    isConflict: ["Conflict"],
    isGone: ["Expired", "Gone"],
    isInvalid: ["BadRequest", "Invalid"],
    isForbidden: ["Forbidden"],
    isTransient: ["InternalError", "ServerTimeout", "ServiceUnavailable", "Timeout", "TooManyRequests"],
  };

  test.each(Object.entries(expected))("%s is true of %j and of nothing else", (name, reasons) => {
    const asks = questions[name as keyof typeof questions];
    const found = codes.map(([reason]) => reason).filter((reason) => asks(new ApiError(reason, "no")));
    expect(found.sort()).toEqual([...reasons].sort());
  });

  test.each([[undefined], [null], [404], ["NotFound"], [new Error("not found")], [{ reason: "NotFound", code: 404 }]])(
    "%j is no refusal",
    (thrown) => {
      for (const asks of Object.values(questions)) expect(asks(thrown)).toBe(false);
    },
  );
});

describe("the body of a refusal", () => {
  test("says what the refusal says", () => {
    const details = { name: "a", kind: "pods", causes: [{ field: "spec.x", message: "no" }], retryAfterSeconds: 3 };
    const refusal = new ApiError("Conflict", "it was changed", { details, cause: new Error("/var/lib/secret") });
    expect(refusal.toStatus()).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: "it was changed",
      reason: "Conflict",
      details,
      code: 409,
    });
    expect(JSON.stringify(refusal.toStatus())).not.toContain("secret");
  });

  test("carries the token that goes on with an expired listing, and a number of its own", () => {
    const refusal = new ApiError("Expired", "too old", { continueToken: "abc", code: 499 });
    expect(refusal.toStatus()).toMatchObject({ metadata: { continue: "abc" }, code: 499 });
  });

  test("is read into the same refusal", () => {
    const text = fc.string({ maxLength: 20 });
    const details = fc.record(
      { name: text, group: text, kind: text, uid: text, retryAfterSeconds: fc.nat() },
      { requiredKeys: [] },
    );
    const options = fc.record(
      { details, code: fc.integer({ min: 400, max: 599 }), continueToken: text },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.constantFrom(...codes.map(([reason]) => reason)), text, options, (reason, message, more) => {
        const refusal = new ApiError(reason, message, more);
        const wire = JSON.parse(JSON.stringify(refusal.toStatus())) as Status;
        const read = ApiError.fromStatus(wire);
        expect(read).toMatchObject({ reason, message, code: refusal.code, details: refusal.details });
        expect(read.continueToken).toBe(refusal.continueToken);
      }),
    );
  });

  test("may lack everything but the code", () => {
    const bare = { kind: "Status", apiVersion: "v1", status: "Failure", code: 418 } as unknown as Status;
    expect(ApiError.fromStatus(bare)).toMatchObject({
      reason: "InternalError",
      message: "the server answered 418",
      code: 418,
      details: {},
    });
  });

  test("keeps its cause for the log", () => {
    const cause = new Error("disk");
    expect(new ApiError("InternalError", "no", { cause }).cause).toBe(cause);
    expect("cause" in new ApiError("InternalError", "no")).toBe(false);
  });
});
