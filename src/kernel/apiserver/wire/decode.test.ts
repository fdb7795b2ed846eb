import { describe, expect, test } from "vitest";
import { ApiError } from "#kernel/model/index.ts";
import { decodeProtobuf } from "./envelope.ts";
import { bytesField, doubleField, envelope, messageField, textField, varintField } from "./testing/encoder.ts";
import { mostMessages, mostVarints } from "./wire-reader.ts";

const decodePod = (...spec: Uint8Array[]) => decodeProtobuf(envelope("v1", "Pod", messageField(2, ...spec)));

/** Fields of core.v1 messages that the cases use. */
const podSpec = { volumes: 1, containers: 2, grace: 4, activeDeadline: 5, hostNetwork: 11, tolerations: 22 } as const;

describe("the values of fields", () => {
  const metadata = (...fields: Uint8Array[]) =>
    decodeProtobuf(envelope("v1", "ConfigMap", messageField(1, ...fields)))["metadata"];
  const container = (...fields: Uint8Array[]) =>
    decodePod(messageField(podSpec.containers, ...fields))["spec"] as { readonly containers: readonly unknown[] };

  test("an object with nothing but a name, as kubectl sends it", () => {
    const hex =
      "6b387300 0a0f0a0276311209 4e616d657370616365 121b 0a130a03666f6f12001a0022002a00320038004200 1200 1a020a00 1a00 2200";
    const body = Buffer.from(hex.replaceAll(" ", ""), "hex");
    expect(decodeProtobuf(body)).toEqual({ apiVersion: "v1", kind: "Namespace", metadata: { name: "foo" } });
  });

  test("scalars that are zero are dropped unless a pointer leads to them", () => {
    expect(decodePod(varintField(podSpec.hostNetwork, 0), varintField(podSpec.grace, 0))["spec"]).toEqual({
      terminationGracePeriodSeconds: 0,
    });
  });

  test("negative integers have ten bytes", () => {
    expect(decodePod(varintField(podSpec.activeDeadline, -1))["spec"]).toEqual({ activeDeadlineSeconds: -1 });
  });

  test("an empty message is kept where a pointer leads to it, and embedded fields move up", () => {
    const volume = messageField(podSpec.volumes, textField(1, "tmp"), messageField(2, messageField(2)));
    expect(decodePod(volume)["spec"]).toEqual({ volumes: [{ name: "tmp", emptyDir: {} }] });
  });

  test("a repeated field is a list in the order of the bytes", () => {
    const items = ["b", "a", "b"].map((text) => textField(3, text));
    expect(container(textField(1, "c"), ...items)).toEqual({ containers: [{ name: "c", command: ["b", "a", "b"] }] });
  });

  test("numbers of a list may come packed", () => {
    const packed = bytesField(4, Uint8Array.of(1, 2, 0x80, 1));
    const context = decodePod(messageField(14, packed))["spec"];
    expect(context).toEqual({ securityContext: { supplementalGroups: [1, 2, 128] } });
  });

  test("entries of a map may lack key or value", () => {
    const labels = [
      messageField(11, textField(1, "a"), textField(2, "1")),
      messageField(11, textField(1, "b")),
      messageField(11),
    ];
    expect(metadata(...labels)).toEqual({ labels: { a: "1", b: "", "": "" } });
  });

  test("names that objects inherit are ordinary keys", () => {
    const keys = ["__proto__", "constructor", "toString"];
    const found = metadata(...keys.map((key) => messageField(11, textField(1, key), textField(2, "x"))));
    expect(JSON.stringify(found)).toBe('{"labels":{"__proto__":"x","constructor":"x","toString":"x"}}');
    expect(Object.prototype).not.toHaveProperty("x");
  });

  test.each([
    ["whole seconds", [varintField(1, 1_700_000_000)], "2023-11-14T22:13:20Z"],
    ["before 1970", [varintField(1, -1)], "1969-12-31T23:59:59Z"],
    ["Go's zero time, an empty message", [], undefined],
  ])("a time: %s", (_, fields, expected) => {
    expect(metadata(messageField(8, ...fields)) ?? {}).toEqual(
      expected === undefined ? {} : { creationTimestamp: expected },
    );
  });

  test("a time with microseconds has six digits", () => {
    const lease = messageField(2, messageField(4, varintField(1, 1_700_000_000), varintField(2, 1_234_567)));
    expect(decodeProtobuf(envelope("coordination.k8s.io/v1", "Lease", lease))["spec"]).toEqual({
      renewTime: "2023-11-14T22:13:20.001234Z",
    });
  });

  test.each([
    ["a number", [varintField(1, 0), varintField(2, 8080)], 8080],
    ["the number zero", [varintField(1, 0), varintField(2, 0)], 0],
    ["a name", [varintField(1, 1), textField(3, "http")], "http"],
  ])("integer or string: %s", (_, fields, expected) => {
    const service = messageField(2, messageField(1, varintField(3, 80), messageField(4, ...fields)));
    expect(decodeProtobuf(envelope("v1", "Service", service))["spec"]).toEqual({
      ports: [{ port: 80, targetPort: expected }],
    });
  });

  test("bytes are base64, quantities and embedded JSON are what they say", () => {
    const secret = messageField(2, textField(1, "key"), bytesField(2, Uint8Array.of(0xff, 0, 1)));
    expect(decodeProtobuf(envelope("v1", "Secret", secret))["data"]).toEqual({ key: "/wAB" });
    const entry = messageField(17, textField(1, "kubectl"), messageField(7, textField(1, '{"f:data":{}}')));
    expect(metadata(entry)).toEqual({ managedFields: [{ manager: "kubectl", fieldsV1: { "f:data": {} } }] });
    const quota = messageField(2, messageField(1, textField(1, "pods"), messageField(2, textField(1, "10"))));
    expect(decodeProtobuf(envelope("v1", "ResourceQuota", quota))["spec"]).toEqual({ hard: { pods: "10" } });
  });

  test("the schema in a CustomResourceDefinition has the keys of its JSON", () => {
    const schema = [
      textField(5, "object"),
      varintField(38, 1),
      messageField(30, varintField(1, 1)),
      doubleField(9, 1.5),
    ];
    const version = messageField(7, textField(1, "v1"), messageField(4, messageField(1, ...schema)));
    const crd = envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", messageField(2, version));
    expect(decodeProtobuf(crd)["spec"]).toEqual({
      versions: [
        {
          name: "v1",
          schema: {
            openAPIV3Schema: {
              type: "object",
              "x-kubernetes-preserve-unknown-fields": true,
              additionalProperties: true,
              maximum: 1.5,
            },
          },
        },
      ],
    });
  });

  test("the reference of a token request is renamed, options of a deletion belong to every group", () => {
    const token = messageField(2, messageField(3, textField(1, "Pod"), textField(4, "u-1")));
    expect(decodeProtobuf(envelope("authentication.k8s.io/v1", "TokenRequest", messageField(2, token)))).toBeDefined();
    const options = decodeProtobuf(envelope("apps/v1", "DeleteOptions", varintField(1, 0), textField(4, "Foreground")));
    expect(options).toEqual({
      apiVersion: "apps/v1",
      kind: "DeleteOptions",
      gracePeriodSeconds: 0,
      propagationPolicy: "Foreground",
    });
  });

  test("a field that nobody knows is told of, not lost", () => {
    expect(decodePod(varintField(999, 1), textField(998, "x"), doubleField(997, 1))["spec"]).toEqual({
      "#999": true,
      "#998": true,
      "#997": true,
    });
  });
});

describe("what is no protobuf is refused", () => {
  const nested = (levels: number): Uint8Array => {
    let schema = textField(5, "object");
    for (let level = 0; level < levels; level++) schema = messageField(28, schema);
    return messageField(2, messageField(7, messageField(4, messageField(1, schema))));
  };
  const raw = (...bytes: number[]) => envelope("v1", "Pod", Uint8Array.from(bytes));

  test.each([
    ["other bytes at the start", Uint8Array.from([0x7b, 0x7d]), 400, "starts with the bytes 6b 38 73 00"],
    ["nothing", new Uint8Array(), 400, "starts with the bytes 6b 38 73 00"],
    ["an envelope that names no kind", Uint8Array.from([0x6b, 0x38, 0x73, 0]), 415, 'kind ""'],
    ["a custom kind", envelope("example.org/v1", "Widget"), 415, 'kind "Widget" in "example.org/v1"'],
    ["a kind of no group", envelope("v1", "Widget"), 415, 'kind "Widget" in "v1"'],
    [
      "an object encoded once more",
      envelope("v1", "Pod", new Uint8Array(), "application/json"),
      400,
      "encoded as application/json",
    ],
    ["a length past the end", raw(0x0a, 0x7f), 400, "a length of 127 where 0 bytes are left"],
    ["a length of 2^63", raw(0x0a, ...Array.from({ length: 8 }, () => 0xff), 0x7f), 400, "a length of"],
    ["an integer of eleven bytes", raw(0x78, ...Array.from({ length: 11 }, () => 0xff)), 400, "more than 64 bits"],
    ["an end inside an integer", raw(0x78, 0x80), 400, "ends inside a value"],
    ["field number zero", raw(0x00, 0x00), 400, "0 is no field number"],
    ["a group", raw(0xfb, 0x07), 400, "wire type 3 is not in use"],
    [
      "a text where a message belongs",
      envelope("v1", "Pod", varintField(1, 1)),
      400,
      "metadata has wire type 0, expected 2",
    ],
    [
      "a text that is not UTF-8",
      envelope("v1", "Pod", messageField(1, bytesField(1, Uint8Array.of(0xff)))),
      400,
      "not UTF-8",
    ],
    [
      "an integer beyond 32 bits",
      envelope(
        "v1",
        "Pod",
        messageField(2, messageField(22, messageField(2))),
        "",
        messageField(2, varintField(25, 2 ** 40)),
      ),
      400,
      "more than 32 bits",
    ],
    [
      "an integer beyond 53 bits",
      envelope("v1", "Pod", messageField(2, varintField(podSpec.grace, 2n ** 60n))),
      400,
      "integers that JSON keeps exact",
    ],
    [
      "a year of five digits",
      envelope("v1", "Pod", messageField(1, messageField(8, varintField(1, 253_402_300_800)))),
      400,
      "is no time",
    ],
    [
      "too many nanoseconds",
      envelope("v1", "Pod", messageField(1, messageField(8, varintField(1, 1), varintField(2, 1e9)))),
      400,
      "nanoseconds",
    ],
    [
      "JSON inside that is none",
      envelope("v1", "Pod", messageField(1, messageField(17, messageField(7, textField(1, "{"))))),
      400,
      "the JSON inside cannot be read",
    ],
    [
      "a hundred and one levels",
      envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", nested(101)),
      400,
      "deeper than 100 levels",
    ],
  ])("%s", (_, body, code, message) => {
    let thrown: unknown;
    try {
      decodeProtobuf(body);
    } catch (error) {
      thrown = error;
    }
    expect(thrown instanceof ApiError && { code: thrown.code, message: thrown.message }).toEqual({
      code,
      message: expect.stringContaining(message),
    });
  });

  // Two bytes each, an empty field of a number and the type of its wire.
  test.each([
    ["fields nobody knows", 0x7a, `there are more than ${mostVarints} tags, lengths and integers`],
    ["entries of a map", 0x12, `there are more than ${mostMessages} messages`],
  ])("a body of nothing but tiny %s is not read to its end", (_what, tag, message) => {
    const tiny = new Uint8Array(2 * mostVarints).map((_byte, at) => (at % 2 === 0 ? tag : 0));
    expect(() => decodeProtobuf(envelope("v1", "ConfigMap", tiny))).toThrow(message);
  });

  test("a body of nothing but empty messages is not unfolded", () => {
    const bomb = envelope("v1", "Pod", messageField(2, ...Array.from({ length: 20_000 }, () => messageField(2))));
    expect(() => decodeProtobuf(bomb)).toThrow("larger than four times the body");
  });
});
