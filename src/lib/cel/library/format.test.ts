import { describe } from "vitest";
import { expectFailures, expectTrue, expectValues } from "./testing/evaluate.ts";

describe("verbs", () => {
  expectValues([
    ["'no verb'.format([])", "no verb"],
    ["''.format([])", ""],
    ["'%% and %%'.format([])", "% and %"],
    ["'%%%s%%'.format(['text'])", "%text%"],
    ["'%s is %d and %.2f %%'.format(['x', 3, 1.5])", "x is 3 and 1.50 %"],
    ["'%s'.format(['used', 'not used'])", "used"],
    ["'%s'.format(['%d'])", "%d"],
    ["'%s'.format(['$&'])", "$&"],
    ["'%d %d %d %d'.format([3, -4, 5u, dyn(128)])", "3 -4 5 128"],
    ["'%d %d'.format([9223372036854775807, 18446744073709551615u])", "9223372036854775807 18446744073709551615"],
    ["'%d %d %d'.format([double('NaN'), double('Infinity'), double('-Infinity')])", "NaN Infinity -Infinity"],
    ["'%d'.format([2.0])", "2"],
    ["'%.3f'.format([1.2345])", "1.234"],
    ["'%f %f %f'.format([2.71828, 3, 4u])", "2.718280 3.000000 4.000000"],
    ["'%.0f %.1f'.format([1.6, 0.05])", "2 0.1"],
    ["'%f %.0f %.2f'.format([double('NaN'), double('-Infinity'), 1e22])", "NaN -Infinity 10000000000000000000000.00"],
    ["'%e %.6e %.0e'.format([2.71828, 1052.032911275, 5.0])", "2.718280e+00 1.052033e+03 5e+00"],
    ["'%e %.2e %e'.format([1e-7, 1e100, double('-Infinity')])", "1.000000e-07 1.00e+100 -Infinity"],
    ["'%b %b %b %b %b'.format([5, -5, uint(64), true, false])", "101 -101 1000000 1 0"],
    ["'%o %o'.format([11, uint(65535)])", "13 177777"],
    ["'%x %X %x %X'.format([30, 30, -255, uint(6000)])", "1e 1E -ff 1770"],
    ["'%x %X'.format(['Hello!', 'é'])", "48656c6c6f21 C3A9"],
    ["'%x %X'.format([b'byte', b'\\\\xff'])", "62797465 5C786666"],
    ["'%.99f'.format([0.0]).size()", 101],
  ]);
});

describe("%s", () => {
  expectValues([
    ["'%s %s %s'.format([true, null, type('x')])", "true null string"],
    ["'%s %s %s'.format([999999999999, 56.8, 5u])", "999999999999 56.8 5"],
    ["'%s'.format([b'xyz'])", "xyz"],
    ["'%s'.format([timestamp('2023-02-03T23:31:20+00:00')])", "2023-02-03T23:31:20Z"],
    ["'%s'.format([duration('1h45m47s')])", "6347s"],
    ["'%s'.format([[]])", "[]"],
    ["'%s'.format([{}])", "{}"],
    ["'%s'.format([['abc', 3.14, null, [9, 8u], b'x', duration('2h')]])", "[abc, 3.14, null, [9, 8], x, 7200s]"],
    ["'%s'.format([{'b': true, 'a': null, 'c': {'d': [1]}}])", "{a: null, b: true, c: {d: [1]}}"],
    ["'%s'.format([{1: 'x', true: double('NaN'), 'k': 2u}])", "{1: x, k: 2, true: NaN}"],
    ["'%s'.format([[double('NaN'), double('Infinity'), double('-Infinity')]])", "[NaN, Infinity, -Infinity]"],
    ["'%s %s'.format([quantity('1.5Gi'), ip('::1')])", "1536Mi ::1"],
    ["'%s %s'.format([cidr('10.0.0.1/8'), url('https://h/')])", "10.0.0.1/8 https://h/"],
  ]);
});

describe("errors", () => {
  expectFailures([
    ["'%s %s'.format(['x'])", "format has only 1 values"],
    ["'%d'.format([])", "format has only 0 values"],
    ["'%q'.format(['x'])", "format does not know %q"],
    ["'%E'.format([0.5])", "format does not know %E"],
    ["'%a'.format([])", "format does not know %a"],
    ["'100%'.format([])", "format does not know %"],
    ["'100% sure'.format([])", "format does not know % "],
    ["'%5d'.format([1])", "format does not know %5"],
    ["'%.2d'.format([1])", "format does not know %.2d"],
    ["'%.2s'.format(['x'])", "format does not know %.2s"],
    ["'%.2%'.format(['x'])", "format does not know %.2%"],
    ["'%😀'.format(['x'])", "format does not know %😀"],
    ["'%.f'.format([1.5])", "format takes a precision of 0 to 99 digits"],
    ["'%.100f'.format([1.5])", "format takes a precision of 0 to 99 digits"],
    ["'%d'.format(['x'])", "%d cannot format x"],
    ["'%d'.format([0.5])", "%d cannot format 0.5"],
    ["'%d'.format([duration('30m2s')])", "%d cannot format 1802s"],
    ["'%d'.format([null])", "%d cannot format null"],
    ["'%f'.format([true])", "%f cannot format true"],
    ["'%e'.format(['1'])", "%e cannot format 1"],
    ["'%b'.format(['abc'])", "%b cannot format abc"],
    ["'%b'.format([b'abc'])", "%b cannot format abc"],
    ["'%o'.format([1.0])", "%o cannot format 1"],
    ["'%x'.format([0.5])", "%x cannot format 0.5"],
    ["'%X'.format([null])", "%X cannot format null"],
    ["'%s'.format([optional.of(1)])", "the result has no JSON form"],
  ]);
  expectTrue(["'%s'.format([['a']]) == '[a]'", "'%s,%s'.format([1, 2]).split(',') == ['1', '2']"]);
});
