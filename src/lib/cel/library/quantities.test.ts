import { describe } from "vitest";
import { expectFailures, expectRefusals, expectTrue, expectValues } from "./testing/evaluate.ts";

describe("reading", () => {
  expectTrue([
    "isQuantity('20') && isQuantity('20M') && isQuantity('20Mi') && isQuantity('1e3') && isQuantity('-1.5')",
    "!isQuantity('20Mo') && !isQuantity('10Mm') && !isQuantity('10 Mi') && !isQuantity('') && !isQuantity('Mi')",
    "quantity('200M') == quantity('0.2G') && quantity('2000k') == quantity('0.002G')",
    "quantity('200M') != quantity('0.3G')",
    "quantity('1') in [quantity('1000m')] && [quantity('1k')] == [quantity('1000')]",
  ]);
  expectValues([
    ["quantity('12Mi')", "12Mi"],
    ["quantity('1.5Gi')", "1536Mi"],
    ["{'cpu': quantity('0.5')}", { cpu: "500m" }],
  ]);
  expectFailures([
    ["quantity('1 Gi')", 'expected a quantity such as 1Gi, 500m or 2, found "1 Gi"'],
    ["quantity('')", 'expected a quantity such as 1Gi, 500m or 2, found ""'],
  ]);
  expectRefusals([
    ["isQuantity([1, 2, 3])", "found no matching overload for 'isQuantity(list<int>)'"],
    ["quantity('1') == 1", "no such overload: kubernetes.Quantity == int"],
    ["quantity('1') < quantity('2')", "no such overload: kubernetes.Quantity < kubernetes.Quantity"],
  ]);
});

describe("comparing", () => {
  expectTrue([
    "quantity('50M').isLessThan(quantity('50Mi')) && !quantity('100M').isLessThan(quantity('50M'))",
    "!quantity('1k').isLessThan(quantity('1000')) && !quantity('1k').isGreaterThan(quantity('1000'))",
    "quantity('50Mi').isGreaterThan(quantity('50M')) && !quantity('50M').isGreaterThan(quantity('100M'))",
    "quantity('200M').compareTo(quantity('0.2G')) == 0",
    "quantity('50M').compareTo(quantity('50Mi')) == -1 && quantity('50Mi').compareTo(quantity('50M')) == 1",
    "quantity('-1').sign() == -1 && quantity('0Gi').sign() == 0 && quantity('1n').sign() == 1",
  ]);
});

describe("converting", () => {
  expectTrue([
    "quantity('50').isInteger() && quantity('1Ki').isInteger() && quantity('1000m').isInteger()",
    "!quantity('500m').isInteger() && !quantity('9999999999999999999999999G').isInteger()",
    "!quantity('9223372036854775807').isInteger() && quantity('9223372036854775806').isInteger()",
  ]);
  expectValues([
    ["quantity('50k').asInteger()", 50_000],
    ["quantity('-2Ki').asInteger()", -2048],
    ["quantity('50.703k').asApproximateFloat()", 50_703],
    ["quantity('500m').asApproximateFloat()", 0.5],
    ["quantity('-1n').asApproximateFloat()", -1e-9],
    ["quantity('1E').asApproximateFloat()", 1e18],
  ]);
  expectFailures([
    ["quantity('1m').asInteger()", "the quantity 1m is not an integer"],
    ["quantity('9999999999999999999999999G').asInteger()", "the quantity 9223372036854775807 is not an integer"],
    ["quantity('9E').add(quantity('9E')).asInteger()", "the quantity 18E is not an integer"],
  ]);
});

describe("adding", () => {
  expectTrue([
    "quantity('50k').add(quantity('20')) == quantity('50.02k')",
    "quantity('50k').add(20) == quantity('50020')",
    "quantity('50k').sub(quantity('20')) == quantity('49.98k') && quantity('50k').sub(20) == quantity('49980')",
    "quantity('50k').add(20).sub(quantity('100k')).asInteger() == -49980",
    "quantity('50k').add(20).sub(quantity('100k')).sub(-50000).asInteger() == 20",
    "quantity('0.1').add(quantity('0.2')) == quantity('0.3')",
  ]);
  expectValues([
    ["quantity('1Gi').add(quantity('1Mi')).sub(1048576)", "1Gi"],
    ["quantity('0').add(quantity('1Gi'))", "1Gi"],
    ["quantity('0').sub(quantity('1Gi'))", "-1Gi"],
    ["quantity('1Gi').sub(quantity('1Gi'))", "0"],
    ["quantity('1').add(quantity('1Ki'))", "1025"],
  ]);
});
