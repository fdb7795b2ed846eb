import { describe, expect, test } from "vitest";
import {
  canonicalElement,
  compareElements,
  fieldElement,
  fieldNameOf,
  formatElement,
  sortElements,
  valueElement,
} from "./elements.ts";

describe("spelling", () => {
  test.each([
    ["f:name", "f:name"],
    ["f:", "f:"],
    ["f:a:b", "f:a:b"],
    ["f:__proto__", "f:__proto__"],
    ['k:{"name":"c"}', 'k:{"name":"c"}'],
    ['k:{"protocol":"TCP", "port":80}', 'k:{"port":80,"protocol":"TCP"}'],
    ['k:{"name":"a\\u0062"}', 'k:{"name":"ab"}'],
    ['v:"x"', 'v:"x"'],
    ["v: 1.0", "v:1"],
    ["v:true", "v:true"],
    ["i:7", "i:7"],
    ["i:007", "i:7"],
  ])("%s is written as %s", (text, canonical) => {
    expect(canonicalElement(text)).toBe(canonical);
  });

  test.each([
    [""],
    ["f"],
    ["x"],
    ["."],
    ["k:"],
    ["k:{}"],
    ["k:[1]"],
    ['k:{"a":1}x'],
    ["v:"],
    ["v:{"],
    ["i:"],
    ["i:x"],
    ["i:1e3"],
    ["z:1"],
  ])("%j is no element", (text) => {
    expect(canonicalElement(text)).toBeUndefined();
  });

  test("the name of a member comes back out of its element", () => {
    for (const name of ["a", "", "k:x", "__proto__", "a.b/c"]) expect(fieldNameOf(fieldElement(name))).toBe(name);
    expect(fieldNameOf(valueElement("f:x"))).toBeUndefined();
  });
});

describe("order", () => {
  test.each([
    ["members by name", ["f:b", "f:a", "f:aa"], ["f:a", "f:aa", "f:b"]],
    ["kinds: members, keys, values, places", ["i:0", "v:1", 'k:{"n":1}', "f:z"], ["f:z", 'k:{"n":1}', "v:1", "i:0"]],
    ["numbers by size", ["v:10", "v:9", "v:-1"], ["v:-1", "v:9", "v:10"]],
    ["places by size", ["i:10", "i:9"], ["i:9", "i:10"]],
    ["numbers before texts before booleans", ["v:true", 'v:"a"', "v:2"], ["v:2", 'v:"a"', "v:true"]],
    ["false before true", ["v:true", "v:false"], ["v:false", "v:true"]],
    ["keys by their values", ['k:{"p":443}', 'k:{"p":80}'], ['k:{"p":80}', 'k:{"p":443}']],
    [
      "keys by their second field",
      ['k:{"p":80,"q":"UDP"}', 'k:{"p":80,"q":"TCP"}'],
      ['k:{"p":80,"q":"TCP"}', 'k:{"p":80,"q":"UDP"}'],
    ],
    ["shorter keys first", ['k:{"p":80,"q":"TCP"}', 'k:{"p":80}'], ['k:{"p":80}', 'k:{"p":80,"q":"TCP"}']],
    ["keys by the names of their fields", ['k:{"b":1}', 'k:{"a":2}'], ['k:{"a":2}', 'k:{"b":1}']],
  ])("%s", (_name, given, sorted) => {
    expect(sortElements([...given])).toEqual(sorted);
    expect(sortElements([...given].reverse())).toEqual(sorted);
  });

  test("an element is as large as itself", () => {
    for (const element of ["f:a", 'k:{"a":null}', "v:[1]", 'v:{"a":1}', "v:null", "i:1"])
      expect(compareElements(element, element)).toBe(0);
  });
});

test.each([
  ["f:image", ".image"],
  ['k:{"name":"c"}', '[name="c"]'],
  ['k:{"port":80,"protocol":"TCP"}', '[port=80,protocol="TCP"]'],
  ['v:"x"', '[="x"]'],
  ["v:1", "[=1]"],
  ["i:3", "[3]"],
])("%s is printed as %s", (element, text) => {
  expect(formatElement(element)).toBe(text);
});
