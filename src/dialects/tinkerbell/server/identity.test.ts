import { expect, test } from "vitest";
import { namesIn } from "./identity.ts";

const subject = (CN: string) => ({ CN, C: "", ST: "", L: "", O: "", OU: "" });

test("names of a certificate are its common name, hosts and URIs, and nothing else", () => {
  const certificate = {
    subject: subject("agent-a"),
    subjectaltname: "DNS:node-7, URI:spiffe://x/a, IP Address:10.0.0.1, DNS:agent-a",
  };
  expect(namesIn(certificate)).toEqual(["agent-a", "node-7", "spiffe://x/a"]);
});

test("a name that holds a comma is one name", () => {
  const certificate = { subject: subject(""), subjectaltname: 'DNS:"a, DNS:b", URI:"x\\"y"' };
  expect(namesIn(certificate)).toEqual(["a, DNS:b", 'x"y']);
});
