import { describe, expect, test } from "vitest";
import * as refusals from "./refusals.ts";
import type { ApiError, StatusCause } from "./status.ts";
import { Job, Pod } from "./types.ts";

describe("refusals in Kubernetes' words", () => {
  test.each<[ApiError, number, string, object]>([
    [refusals.notFound(Pod, "a"), 404, 'pods "a" not found', { name: "a", kind: "pods" }],
    [refusals.notFound(Job, "a"), 404, 'jobs.batch "a" not found', { name: "a", group: "batch", kind: "jobs" }],
    [refusals.unknownResource(), 404, "the server could not find the requested resource", {}],
    [refusals.alreadyExists(Pod, "a"), 409, 'pods "a" already exists', { name: "a", kind: "pods" }],
    [refusals.badRequest("no body"), 400, "no body", {}],
    [refusals.forbidden(Pod, "a", "it may not"), 403, 'pods "a" is forbidden: it may not', { name: "a", kind: "pods" }],
    [
      refusals.forbidden(Pod, "", "no more here", [{ reason: "NamespaceTerminating" }]),
      403,
      'pods "" is forbidden: no more here',
      { kind: "pods", causes: [{ reason: "NamespaceTerminating" }] },
    ],
    [
      refusals.conflict(Job, "a", "it is another"),
      409,
      'Operation cannot be fulfilled on jobs.batch "a": it is another',
      { name: "a", group: "batch", kind: "jobs" },
    ],
    [
      refusals.staleRevision(Pod, "a"),
      409,
      'Operation cannot be fulfilled on pods "a": the object has been modified; please apply your changes to the latest version and try again',
      { name: "a", kind: "pods" },
    ],
    [
      refusals.uidMismatch(Pod, "a", "u1", "u2"),
      409,
      'Operation cannot be fulfilled on pods "a": the precondition asks for uid u1, the object has uid u2',
      { name: "a", kind: "pods" },
    ],
    [refusals.tooLarge("the body is too large"), 413, "the body is too large", {}],
    [refusals.tooManyRequests("watches"), 429, "too many watches, try again later", { retryAfterSeconds: 1 }],
    [
      refusals.unsupportedMediaType("text/plain", ["application/json", "application/yaml"]),
      415,
      "the body of the request was in an unknown format (text/plain) - accepted media types include: application/json, application/yaml",
      {},
    ],
    [
      refusals.invalidOption("dryRun", "Unsupported value"),
      422,
      "dryRun: Unsupported value",
      { causes: [{ reason: "FieldValueNotSupported", field: "dryRun", message: "Unsupported value" }] },
    ],
    [
      refusals.invalidOption("force", "Forbidden: not here"),
      422,
      "force: Forbidden: not here",
      { causes: [{ reason: "FieldValueForbidden", field: "force", message: "Forbidden: not here" }] },
    ],
    [
      refusals.invalidOption("propagationPolicy", "one or the other"),
      422,
      "propagationPolicy: one or the other",
      { causes: [{ reason: "FieldValueInvalid", field: "propagationPolicy", message: "one or the other" }] },
    ],
  ])("%s", (refusal, code, message, details) => {
    expect(refusal.code).toBe(code);
    expect(refusal.message).toBe(message);
    expect(refusal.details).toEqual(details);
  });

  test("an expired listing may be gone on with", () => {
    expect(refusals.expired("too old", "abc").continueToken).toBe("abc");
    expect(refusals.expired("too old")).toMatchObject({ code: 410, reason: "Expired", continueToken: undefined });
  });
});

describe("an invalid object", () => {
  const causes = [
    refusals.required("spec.a", "it names the image"),
    refusals.forbiddenField("spec.b", "may not change"),
  ];

  test("is told with one cause as it is", () => {
    const refusal = refusals.invalid(Pod, "p", causes.slice(0, 1));
    expect(refusal.message).toBe('Pod "p" is invalid: spec.a: Required value: it names the image');
    expect(refusal.details).toEqual({ name: "p", kind: "Pod", causes: causes.slice(0, 1) });
  });

  test("is told with several in brackets, by its kind and group", () => {
    const refusal = refusals.invalid(Job, "j", causes);
    expect(refusal.message).toBe(
      'Job.batch "j" is invalid: [spec.a: Required value: it names the image, spec.b: Forbidden: may not change]',
    );
    expect(refusal.details).toEqual({ name: "j", group: "batch", kind: "Job", causes });
    expect(refusal.code).toBe(422);
  });

  test("is told by the reason where a cause has no message", () => {
    expect(refusals.invalid(Pod, "p", [{ field: "spec", reason: "FieldValueTooMany" }, {}]).message).toBe(
      'Pod "p" is invalid: [spec: FieldValueTooMany, : ]',
    );
  });
});

describe("causes", () => {
  test.each<[StatusCause, string, string]>([
    [refusals.required("f", "say which"), "FieldValueRequired", "Required value: say which"],
    [refusals.invalidValue("f", "A", "must be low"), "FieldValueInvalid", 'Invalid value: "A": must be low'],
    [refusals.invalidValue("f", undefined, "must be there"), "FieldValueInvalid", "Invalid value: null: must be there"],
    [refusals.invalidValue("f", { a: [1] }, "no"), "FieldValueInvalid", 'Invalid value: {"a":[1]}: no'],
    [refusals.forbiddenField("f", "never"), "FieldValueForbidden", "Forbidden: never"],
    [refusals.tooLongField("f", "63 at most"), "FieldValueTooLong", "Too long: 63 at most"],
    [refusals.wrongType("f", 1, "a string"), "FieldValueTypeInvalid", "Invalid value: 1: must be a string"],
  ])("%j", (cause, reason, message) => {
    expect(cause).toEqual({ reason, field: "f", message });
  });

  test("repeat no more than 200 characters of a value", () => {
    const { message = "" } = refusals.invalidValue("f", "x".repeat(10_000), "too much");
    expect(message).toBe(`Invalid value: "${"x".repeat(199)}…: too much`);
  });
});
