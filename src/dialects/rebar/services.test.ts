import { expect, test } from "vitest";
import { podsFor } from "./services.ts";

const podStreams = () => {
  throw new Error("not used here");
};

test("contexts have no Pods where Pods are processes of this server's user, unless agents may run on this host", () => {
  const engines = (runsPodsOnHost: boolean, allowsHost: boolean) =>
    Object.keys(podsFor({ podStreams, runsPodsOnHost, options: { allowsHost } }));
  expect([engines(true, false), engines(true, true), engines(false, false)]).toEqual([
    [],
    ["podStreams"],
    ["podStreams"],
  ]);
});
