import { describe, expect, test } from "vitest";
import { formatAddress, parseAddress } from "./addresses.ts";
import { expectFailures, expectRefusals, expectTrue, expectValues } from "./testing/evaluate.ts";

describe("what is an address", () => {
  test.each<readonly [string, string]>([
    ["0.0.0.0", "0.0.0.0"],
    ["255.255.255.255", "255.255.255.255"],
    ["192.168.0.1", "192.168.0.1"],
    ["::", "::"],
    ["::1", "::1"],
    ["1::", "1::"],
    ["0:0:0:0:0:0:0:0", "::"],
    ["2001:DB8::68", "2001:db8::68"],
    ["2001:0db8:0000:0000:0000:0000:0000:0068", "2001:db8::68"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"],
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["10:100:0:0:0:0:0:1000", "10:100::1000"],
    ["64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
    ["::1.2.3.4", "::102:304"],
    ["1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"],
    ["::ffff:0:1.2.3.4", "::ffff:0:102:304"],
  ])("%s is written %s", (text, canonical) => {
    const address = parseAddress(text);
    expect(address && formatAddress(address)).toBe(canonical);
    expect(parseAddress(canonical)).toEqual(address);
  });

  test.each([
    "",
    ".",
    ":",
    ":::",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "01.2.3.4",
    "1.2.3.04",
    "1.2.3.-4",
    "1.2.3.4 ",
    "0x1.2.3.4",
    "1..3.4",
    "192.168.0.1.0",
    "2001:db8:::68",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7:8::",
    ":1:2:3:4:5:6:7",
    "12345::",
    "g::",
    "fe80::1%eth0",
    "[::1]",
    "::ffff:1.2.3.4",
    "::FFFF:102:304",
    "0:0:0:0:0:ffff:1.2.3.4",
    "1.2.3.4::",
    "1:1.2.3.4:2::",
    "::1.2.3.256",
    "1:2:3:4:5:6:7:1.2.3.4",
    `${"0".repeat(50)}::`,
  ])("%j is none", (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
});

describe("addresses", () => {
  expectTrue([
    "isIP('192.168.0.1') && isIP('::1') && !isIP('192.168.0.1.0') && !isIP('2001:db8:::68')",
    "ip.isCanonical('127.0.0.1') && ip.isCanonical('2001:db8::68')",
    "!ip.isCanonical('2001:DB8::68') && !ip.isCanonical('0::1') && !ip.isCanonical('64:ff9b::192.0.2.33')",
    "ip('2001:DB8::68') == ip('2001:db8:0::68') && ip('::1') != ip('::2')",
    "ip('10.0.0.1').family() == 4 && ip('::1').family() == 6",
    "ip('0.0.0.0').isUnspecified() && ip('::').isUnspecified() && !ip('127.0.0.1').isUnspecified()",
    "ip('127.0.0.1').isLoopback() && ip('127.255.0.1').isLoopback() && ip('::1').isLoopback()",
    "!ip('1.2.3.4').isLoopback() && !ip('::2').isLoopback()",
    "ip('224.0.0.1').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast()",
    "ip('ff02::1').isLinkLocalMulticast() && ip('ff12::1').isLinkLocalMulticast() && ip('fff2::1').isLinkLocalMulticast()",
    "!ip('ff05::1').isLinkLocalMulticast() && !ip('fd02::1').isLinkLocalMulticast()",
    "ip('169.254.169.254').isLinkLocalUnicast() && !ip('192.168.0.1').isLinkLocalUnicast()",
    "ip('fe80::1').isLinkLocalUnicast() && ip('febf::1').isLinkLocalUnicast() && !ip('fec0::1').isLinkLocalUnicast()",
    "ip('192.168.0.1').isGlobalUnicast() && ip('8.8.8.8').isGlobalUnicast() && ip('2001:db8::abcd').isGlobalUnicast()",
    "!ip('255.255.255.255').isGlobalUnicast() && !ip('224.0.1.1').isGlobalUnicast() && !ip('0.0.0.0').isGlobalUnicast()",
    "!ip('ff05::1').isGlobalUnicast() && !ip('::').isGlobalUnicast() && !ip('fe80::1').isGlobalUnicast()",
    "ip('1.1.1.1') in [ip('1.1.1.1')] && [ip('::1')] == [ip('0::1')]",
    "string(ip('2001:DB8::1')) == '2001:db8::1'",
  ]);
  expectValues([
    ["ip('1:0:0:2:0:0:0:3')", "1:0:0:2::3"],
    ["[ip('10.0.0.1')]", ["10.0.0.1"]],
  ]);
  expectFailures([
    ["ip('1.2.3.256')", '"1.2.3.256" is not an IP address'],
    ["ip.isCanonical('127.0.0.1.0')", '"127.0.0.1.0" is not an IP address'],
    ["cidr('10.0.0.0/8').containsIP('x')", '"x" is not an IP address'],
  ]);
  expectRefusals([
    ["isIP(cidr('192.168.0.0/24'))", "found no matching overload for 'isIP(net.CIDR)'"],
    ["ip(1)", "found no matching overload for 'ip(int)'"],
  ]);
});

describe("networks", () => {
  expectTrue([
    "isCIDR('10.0.0.0/8') && isCIDR('192.168.3.7/24') && isCIDR('::/0') && isCIDR('::/128') && isCIDR('0.0.0.0/0')",
    "!isCIDR('10.0.0.0/33') && !isCIDR('::/129') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/') && !isCIDR('/8')",
    "!isCIDR('10.0.0.0/08') && !isCIDR('10.0.0.0/+8') && !isCIDR('10.0.0.0/8/8') && !isCIDR('::ffff:10.0.0.0/104')",
    "cidr('192.168.3.7/24').ip() == ip('192.168.3.7') && cidr('192.168.3.7/24').prefixLength() == 24",
    "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsIP(ip('10.255.255.255'))",
    "!cidr('10.0.0.0/8').containsIP('11.0.0.0') && !cidr('0.0.0.0/0').containsIP('::1')",
    "cidr('0.0.0.0/0').containsIP('255.255.255.255') && cidr('1.2.3.4/32').containsIP('1.2.3.4')",
    "!cidr('1.2.3.4/32').containsIP('1.2.3.5') && cidr('2001:db8::/32').containsIP('2001:db8:ffff::1')",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.0.0.0/8').containsCIDR(cidr('10.0.0.0/8'))",
    "!cidr('10.1.0.0/16').containsCIDR('10.0.0.0/8') && !cidr('10.0.0.0/8').containsCIDR('11.0.0.0/16')",
    "cidr('192.168.3.7/24') == cidr('192.168.3.7/24') && cidr('192.168.3.7/24') != cidr('192.168.3.0/24')",
    "cidr('192.168.3.7/24').masked() == cidr('192.168.3.0/24') && cidr('2001:db8::1/32').masked() == cidr('2001:db8::/32')",
    "string(cidr('2001:DB8::1/32')) == '2001:db8::1/32'",
  ]);
  expectValues([["cidr('192.168.3.7/0').masked()", "0.0.0.0/0"]]);
  expectFailures([
    ["cidr('1.2.3.4')", '"1.2.3.4" is not a CIDR'],
    ["cidr('10.0.0.0/8').containsCIDR('10.0.0.1')", '"10.0.0.1" is not a CIDR'],
  ]);
});
