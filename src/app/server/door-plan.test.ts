import { describe, expect, test } from "vitest";
import { type ListenAddress, namesOf, planDoors, reachOf } from "./door-plan.ts";

const anyFree = { first: 6443, tries: 100 };
const pinned = { first: 6443, tries: 1 };
const at = (host: string, port?: number): ListenAddress => (port === undefined ? { host } : { host, port });
/** `127.0.0.1:6443+99 192.0.2.7 ::1:7000`: the main door first, with how many ports it may try. */
const planned = (ports: typeof pinned, ...wanted: readonly ListenAddress[]): string => {
  const { main, others } = planDoors(ports, wanted);
  const more = main.ports.tries === 1 ? "" : `+${main.ports.tries - 1}`;
  const rest = others.map(({ host, port }) => (port === undefined ? host : `${host} ${port}`));
  return [`${main.host} ${main.ports.first}${more}`, ...rest].join(", ");
};

describe("what is listened on", () => {
  test("loopback, when nothing else is asked for", () => {
    expect(planned(anyFree)).toBe("127.0.0.1 6443+99");
    expect(planned(pinned)).toBe("127.0.0.1 6443");
  });

  test("another address comes beside loopback", () => {
    expect(planned(anyFree, at("192.0.2.7"))).toBe("127.0.0.1 6443+99, 192.0.2.7");
    expect(planned(pinned, at("192.0.2.7", 7000), at("2001:db8::1"))).toBe(
      "127.0.0.1 6443, 192.0.2.7 7000, 2001:db8::1",
    );
  });

  test("what includes loopback takes its place, with its port", () => {
    expect(planned(anyFree, at("0.0.0.0"))).toBe("0.0.0.0 6443+99");
    expect(planned(anyFree, at("0.0.0.0", 7000))).toBe("0.0.0.0 7000");
    expect(planned(anyFree, at("127.0.0.1", 7000))).toBe("127.0.0.1 7000");
    expect(planned(pinned, at("::", 6443))).toBe(":: 6443");
  });

  test("a port that was named for loopback stays loopback's", () => {
    expect(planned(pinned, at("0.0.0.0", 7000))).toBe("127.0.0.1 6443, 0.0.0.0 7000");
  });

  test("nothing is listened on twice", () => {
    expect(planned(anyFree, at("127.0.0.1"))).toBe("127.0.0.1 6443+99");
    expect(planned(anyFree, at("192.0.2.7"), at("0.0.0.0"), at("::"))).toBe(":: 6443+99");
    expect(planned(pinned, at("192.0.2.7"), at("192.0.2.7", 6443))).toBe("127.0.0.1 6443, 192.0.2.7");
    expect(planned(pinned, at("192.0.2.7", 7000), at("0.0.0.0", 7000))).toBe("127.0.0.1 6443, 0.0.0.0 7000");
    expect(planned(anyFree, at("2001:db8::1"), at("0.0.0.0"))).toBe("0.0.0.0 6443+99, 2001:db8::1");
  });

  test("any port is another one each time", () => {
    expect(planned(pinned, at("192.0.2.7", 0), at("192.0.2.7", 0))).toBe("127.0.0.1 6443, 192.0.2.7 0, 192.0.2.7 0");
  });
});

const machine = { hostname: "Box", addresses: ["192.0.2.7", "198.51.100.1", "2001:db8::1"] };

describe("names", () => {
  test.each<[readonly ListenAddress[], readonly string[], readonly string[]]>([
    [[], [], []],
    [[], ["build.example"], ["build.example"]],
    [[at("192.0.2.7", 7000)], [], ["box", "192.0.2.7"]],
    [[at("0.0.0.0")], ["build.example"], ["box", "192.0.2.7", "198.51.100.1", "build.example"]],
    [[at("::")], ["box"], ["box", "192.0.2.7", "198.51.100.1", "2001:db8::1"]],
  ])("%j with %j has %j", (wanted, given, expected) => {
    expect(namesOf(wanted, given, machine)).toEqual(expected);
  });
});

describe("who can come by it", () => {
  test.each(["127.0.0.1", "127.0.0.2", "::1"])("%s: this machine only, whatever its names", (host) => {
    const { from, urls } = reachOf(at(host, 6443) as Required<ListenAddress>, ["build.example"], machine);
    expect({ from, urls }).toEqual({
      from: "this-machine",
      urls: [host === "::1" ? "https://[::1]:6443" : `https://${host}:6443`],
    });
  });

  test.each<[string, readonly string[]]>([
    ["192.0.2.7", ["https://192.0.2.7:1", "https://build.example:1"]],
    ["0.0.0.0", ["https://192.0.2.7:1", "https://198.51.100.1:1", "https://build.example:1"]],
    ["::", ["https://192.0.2.7:1", "https://198.51.100.1:1", "https://[2001:db8::1]:1", "https://build.example:1"]],
  ])("%s: other machines", (host, urls) => {
    const address = host;
    expect(reachOf({ host, port: 1 }, ["build.example"], machine)).toEqual({
      address,
      port: 1,
      from: "other-machines",
      urls,
    });
  });

  test("a machine without a network has its own name", () => {
    expect(reachOf({ host: "0.0.0.0", port: 1 }, [], { ...machine, addresses: [] }).urls).toEqual(["https://Box:1"]);
  });
});
