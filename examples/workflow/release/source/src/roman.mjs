const symbols = [
  ["M", 1000], ["CM", 900], ["D", 500], ["CD", 400], ["C", 100], ["XC", 90],
  ["L", 50], ["XL", 40], ["X", 10], ["IX", 9], ["V", 5], ["IV", 4], ["I", 1],
];

/** A whole number from 1 to 3999 in Roman numerals. */
export function toRoman(number) {
  if (!Number.isInteger(number) || number < 1 || number > 3999) throw new RangeError(`no Roman numeral for ${number}`);
  let rest = number;
  let text = "";
  for (const [symbol, value] of symbols) {
    while (rest >= value) {
      text += symbol;
      rest -= value;
    }
  }
  return text;
}
