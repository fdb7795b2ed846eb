const small = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(" ");
const tens = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/** A whole number from 0 to 999 in English words. */
export function toWords(number) {
  if (!Number.isInteger(number) || number < 0 || number > 999) throw new RangeError(`no words for ${number}`);
  if (number < 20) return small[number];
  if (number < 100) return number % 10 === 0 ? tens[number / 10] : `${tens[Math.floor(number / 10)]}-${small[number % 10]}`;
  const rest = number % 100;
  return `${small[Math.floor(number / 100)]} hundred${rest === 0 ? "" : ` and ${toWords(rest)}`}`;
}
