import { describe, expect, test } from "vitest";
import { negotiate } from "./accept.ts";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";

describe("what an Accept header gets", () => {
  test.each<[string | undefined, string]>([
    [undefined, "json"],
    ["", "json"],
    ["*/*", "json"],
    ["application/*", "json"],
    ["application/json", "json"],
    ["application/yaml", "yaml"],
    [table, "table"],
    [`${table},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`, "table"],
    ["application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", "json"],
    ["application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "partial"],
    ["application/vnd.kubernetes.protobuf,application/json", "json"],
    ["application/cbor, application/json", "json"],
    ["application/json;q=0.1, application/yaml", "yaml"],
    ["application/yaml;q=0.5, application/json;q=0.9", "json"],
    ["application/json;stream=watch", "json"],
    ["text/html, */*;q=0.1", "json"],
    ["APPLICATION/JSON", "json"],
  ])("%j is %s", (accept, form) => {
    expect(negotiate(accept).form).toBe(form);
  });

  test("the answer repeats the parameters of the form", () => {
    expect(negotiate(table).contentType).toBe(table);
  });

  test.each([
    "application/vnd.kubernetes.protobuf",
    "text/html",
    "application/json;as=Chart;v=v1;g=meta.k8s.io",
    "application/json;q=0",
    ";",
    ",",
  ])("%j is 406", (accept) => {
    expect(() => negotiate(accept)).toThrow(expect.objectContaining({ code: 406 }));
  });
});
