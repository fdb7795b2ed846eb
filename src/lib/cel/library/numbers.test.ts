import { describe } from "vitest";
import { expectFailures, expectRefusals, expectTrue, expectValues } from "./testing/evaluate.ts";

describe("int()", () => {
  expectValues([
    ["int(42u)", 42],
    ["int(0u)", 0],
    ["int(-123.456)", -123],
    ["int(1.9)", 1],
    ["int(11.5) + int(-3.5)", 8],
    ["int('987') + int('-7') + int('+1')", 981],
    ["int('0042')", 42],
    ["int(timestamp('2004-09-16T23:59:59Z'))", 1_095_379_199],
    ["string(int('-9223372036854775808'))", "-9223372036854775808"],
    ["string(int('9223372036854775807'))", "9223372036854775807"],
  ]);
  expectFailures([
    ["int('')", 'int(): cannot convert ""'],
    ["int(' 1')", 'int(): cannot convert " 1"'],
    ["int('1.5')", 'int(): cannot convert "1.5"'],
    ["int('0x1f')", 'int(): cannot convert "0x1f"'],
    ["int('1e3')", 'int(): cannot convert "1e3"'],
    ["int('9223372036854775808')", "int(): 9223372036854775808 does not fit into 64 bits"],
    ["int(18446744073709551615u)", "int(): 18446744073709551615 does not fit into 64 bits"],
    ["int(9.3e18)", "int(): 9300000000000000000 does not fit into 64 bits"],
    ["int(double('NaN'))", 'int(): cannot convert "NaN"'],
    ["int(double('Infinity'))", 'int(): cannot convert "Infinity"'],
  ]);
  expectRefusals([["int(true)", "found no matching overload for 'int(bool)'"]]);
});

describe("uint()", () => {
  expectValues([
    ["uint(1729)", 1729],
    ["uint(3.14159265)", 3],
    ["uint(25.5)", 25],
    ["uint('300')", 300],
    ["uint(5u)", 5],
    ["string(uint(1e19))", "10000000000000000000"],
    ["string(uint('18446744073709551615'))", "18446744073709551615"],
  ]);
  expectFailures([
    ["uint(-1)", "uint(): -1 does not fit into 64 bits"],
    ["uint(-1.5)", "uint(): -1 does not fit into 64 bits"],
    ["uint(6.022e23)", "uint(): 602200000000000027262976 does not fit into 64 bits"],
    ["uint('18446744073709551616')", "uint(): 18446744073709551616 does not fit into 64 bits"],
    ["uint('')", 'uint(): cannot convert ""'],
    ["uint('-1')", 'uint(): cannot convert "-1"'],
    ["uint('0x10')", 'uint(): cannot convert "0x10"'],
    ["uint(double('NaN'))", 'uint(): cannot convert "NaN"'],
  ]);
});

describe("double()", () => {
  expectValues([
    ["double(0)", 0],
    ["double(1000000000000)", 1e12],
    ["double(123u)", 123],
    ["double(18446744073709551615u) == 18446744073709551616.0", true],
    ["double(9223372036854775807) == 9223372036854775808.0", true],
    ["double('123')", 123],
    ["double('-987.654')", -987.654],
    ["double('6.02214e23')", 6.02214e23],
    ["double('1.38e-23')", 1.38e-23],
    ["double('.5') + double('5.') + double('+1')", 6.5],
    ["double('1e-400')", 0],
    ["string(double('Infinity')) + string(double('-inf'))", "+Inf-Inf"],
    ["double('NaN') == double('NaN')", false],
  ]);
  expectFailures([
    ["double('')", 'double(): cannot convert ""'],
    ["double(' 1')", 'double(): cannot convert " 1"'],
    ["double('0x10')", 'double(): cannot convert "0x10"'],
    ["double('1e400')", 'double(): cannot convert "1e400"'],
    ["double('1_000')", 'double(): cannot convert "1_000"'],
    ["double('Infinite')", 'double(): cannot convert "Infinite"'],
    ["double('.')", 'double(): cannot convert "."'],
  ]);
});

describe("numbers of both kinds", () => {
  expectTrue([
    "1 + 0.5 == 1.5 && 0.5 + 1 == 1.5 && 3 - 0.5 == 2.5 && 0.5 - 3 == -2.5",
    "2 * 1.5 == 3.0 && 1.5 * 2 == 3.0 && 3 / 2.0 == 1.5 && 3.0 / 2 == 1.5",
    "1 < 1.5 && 1.5 > 1 && 2 <= 2.0 && 2.0 >= 2 && 1u < 2 && 1 < 2u",
    "type(1 + 1.0) == double && type(1 + 1) == int && 7 / 2 == 3 && -7 / 2 == -3 && -7 % 3 == -1",
    "dyn(1) == 1.0 && dyn(2) != 2.5 && dyn(1u) == 1",
  ]);
  expectRefusals([["5 % 2.0", "no such overload: int % double"]]);
  expectFailures([
    ["9223372036854775807 + 1", "integer overflow: 9223372036854775808"],
    ["9223372036854775807 * 2", "integer overflow: 18446744073709551614"],
    ["5 / 0", "division by zero"],
    ["5 % 0", "modulo by zero"],
    ["1u - 2u", "unsigned integer overflow"],
  ]);
});
