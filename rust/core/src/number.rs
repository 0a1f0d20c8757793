//! Numbers are compared by value, exactly: no integer goes through a float, and no float through text.

use std::{cmp::Ordering, hash::BuildHasher};

use bumpalo::Bump;
use num_bigint::{BigInt, BigUint, Sign};

/// An integer outside the range of `i64`, in the form that its source had it in: neither form is turned into the other
/// (which takes quadratic time) unless two of them differ in form and are most likely equal.
#[derive(Clone, Copy, Debug)]
pub struct Big<'a> {
    pub negative: bool,
    pub magnitude: Magnitude<'a>,
}

#[derive(Clone, Copy, Debug)]
pub enum Magnitude<'a> {
    /// ASCII digits without leading zeros.
    Decimal(&'a [u8]),
    /// Little-endian bytes, possibly with zeros at the end.
    Binary(&'a [u8]),
}

/// 2^61 - 1: a prime below which every remainder and its product by 256 or 10 fit their types with ease.
const PRIME: u128 = (1 << 61) - 1;

impl Big<'_> {
    fn remainder(&self, modulus: u128) -> u128 {
        match self.magnitude {
            Magnitude::Decimal(digits) => {
                digits.iter().fold(0, |rest, digit| (rest * 10 + u128::from(digit - b'0')) % modulus)
            }
            Magnitude::Binary(bytes) => {
                bytes.iter().rev().fold(0, |rest, &byte| (rest * 256 + u128::from(byte)) % modulus)
            }
        }
    }

    fn to_biguint(self) -> BigUint {
        match self.magnitude {
            Magnitude::Decimal(digits) => of_digits(digits),
            Magnitude::Binary(bytes) => BigUint::from_bytes_le(bytes),
        }
    }

    pub fn to_bigint(self) -> BigInt {
        BigInt::from_biguint(if self.negative { Sign::Minus } else { Sign::Plus }, self.to_biguint())
    }

    /// A copy that borrows nothing from the source.
    pub fn copy_to(self, bump: &Bump) -> Big<'_> {
        let magnitude = match self.magnitude {
            Magnitude::Decimal(digits) => Magnitude::Decimal(bump.alloc_slice_copy(digits)),
            Magnitude::Binary(bytes) => Magnitude::Binary(bump.alloc_slice_copy(bytes)),
        };
        Big { negative: self.negative, magnitude }
    }

    /// The decimal digits, or None where there are more than `most` of them.
    pub fn digits(&self, most: usize) -> Option<String> {
        let sign = if self.negative { "-" } else { "" };
        match self.magnitude {
            Magnitude::Decimal(digits) if digits.len() <= most => {
                Some(format!("{sign}{}", String::from_utf8_lossy(digits)))
            }
            // A byte takes more than two digits.
            Magnitude::Binary(bytes) if bytes.len() * 2 <= most => {
                Some(format!("{sign}{}", self.to_biguint())).filter(|digits| digits.len() <= most + sign.len())
            }
            _ => None,
        }
    }
}

/// Reading digit by digit takes quadratic time, so a long number is put together out of its halves.
fn of_digits(digits: &[u8]) -> BigUint {
    if digits.len() <= 1000 {
        return BigUint::parse_bytes(digits, 10).unwrap_or_default();
    }
    let (high, low) = digits.split_at(digits.len() / 2);
    of_digits(high) * BigUint::from(10u8).pow(low.len() as u32) + of_digits(low)
}

pub fn big_equal(a: &Big<'_>, b: &Big<'_>) -> bool {
    a.negative == b.negative
        && match (a.magnitude, b.magnitude) {
            (Magnitude::Decimal(a), Magnitude::Decimal(b)) => a == b,
            (Magnitude::Binary(a), Magnitude::Binary(b)) => significant(a) == significant(b),
            (Magnitude::Decimal(digits), Magnitude::Binary(bytes))
            | (Magnitude::Binary(bytes), Magnitude::Decimal(digits)) => {
                similar_length(digits, bytes)
                    && a.remainder(PRIME) == b.remainder(PRIME)
                    && a.to_biguint() == b.to_biguint()
            }
        }
}

fn significant(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..length]
}

/// Could this many digits be this many bytes? n bytes hold between 2.408 (n - 1) and 2.409 n digits.
fn similar_length(digits: &[u8], bytes: &[u8]) -> bool {
    let (digits, bytes) = (digits.len() as u128, significant(bytes).len() as u128);
    digits * 1000 + 2408 >= bytes * 2408 && digits * 1000 <= bytes * 2409 + 1000
}

#[inline]
pub fn float_equal(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

/// The integer that a float is, if it is one in the range of `i64`.
#[inline]
fn as_int(float: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63; -2^63 itself is an i64
    ((-LIMIT..LIMIT).contains(&float) && float.trunc() == float).then_some(float as i64)
}

#[inline]
pub fn int_is_float(int: i64, float: f64) -> bool {
    as_int(float) == Some(int)
}

/// A finite float of at least 2^53 in size is the integer `mantissa << shift`.
pub fn big_is_float(big: &Big<'_>, float: f64) -> bool {
    if !float.is_finite() || float.abs() < 9.0e15 || big.negative != (float < 0.0) {
        return false;
    }
    // No finite float has more than 309 digits or 128 bytes.
    let short = match big.magnitude {
        Magnitude::Decimal(digits) => digits.len() <= 309,
        Magnitude::Binary(bytes) => significant(bytes).len() <= 128,
    };
    let bits = float.abs().to_bits();
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    let shift = (bits >> 52).saturating_sub(1075);
    short && big.to_biguint().cmp(&(BigUint::from(mantissa) << shift)) == Ordering::Equal
}

/// Big numbers are hashed by what remains of them. The modulus is as secret as the rest of the hash, so that nobody can
/// write numbers that all hash alike.
fn modulus<S: BuildHasher>(build: &S) -> u128 {
    u128::from(build.hash_one("modulus") >> 4 | 1 << 59 | 1)
}

/// Numbers that are equal hash alike.
pub fn hash_float<S: BuildHasher>(float: f64, build: &S) -> u64 {
    match as_int(float) {
        Some(int) => hash_int(int, build),
        None if float.is_nan() => build.hash_one("nan"),
        None if float.is_finite() && float.abs() >= 9.0e15 => {
            let bits = float.abs().to_bits();
            let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
            let modulus = modulus(build);
            let mut rest = u128::from(mantissa) % modulus;
            for _ in 0..(bits >> 52).saturating_sub(1075) {
                rest = rest * 2 % modulus;
            }
            build.hash_one((float < 0.0, rest))
        }
        None => build.hash_one(float.to_bits()),
    }
}

pub fn hash_int<S: BuildHasher>(int: i64, build: &S) -> u64 {
    build.hash_one(int)
}

pub fn hash_big<S: BuildHasher>(big: &Big<'_>, build: &S) -> u64 {
    build.hash_one((big.negative, big.remainder(modulus(build))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::RandomState;

    fn decimal(digits: &str) -> Big<'_> {
        let magnitude = Magnitude::Decimal(digits.trim_start_matches('-').as_bytes());
        Big { negative: digits.starts_with('-'), magnitude }
    }

    #[test]
    fn an_integer_equals_a_float_only_by_its_exact_value() {
        assert!(int_is_float(1, 1.0) && int_is_float(0, -0.0) && int_is_float(i64::MIN, -9_223_372_036_854_775_808.0));
        assert!(!int_is_float((1 << 53) + 1, 9_007_199_254_740_992.0));
        assert!(!int_is_float(i64::MAX, 9_223_372_036_854_775_807.0)); // rounds to 2^63
        assert!(!int_is_float(1, 1.5) && !int_is_float(0, f64::NAN) && !int_is_float(0, f64::INFINITY));
        assert!(big_is_float(&decimal("9223372036854775808"), 9_223_372_036_854_775_808.0));
        assert!(big_is_float(&decimal("1000000000000000019884624838656"), 1e30));
        assert!(!big_is_float(&decimal("1000000000000000000000000000000"), 1e30));
        assert!(big_is_float(&decimal("-100000000000000000000"), -1e20));
        assert!(!big_is_float(&decimal("100000000000000000000"), -1e20));
        assert!(!big_is_float(&decimal(&"9".repeat(400)), f64::INFINITY));
    }

    #[test]
    fn a_long_number_is_read_exactly() {
        for length in [999, 1000, 1001, 2002, 12345] {
            let digits: String = (0..length).map(|place| char::from(b'1' + (place * 7 % 9) as u8)).collect();
            assert_eq!(decimal(&digits).to_bigint().to_string(), digits);
            assert_eq!(decimal(&format!("-{digits}")).to_bigint().to_string(), format!("-{digits}"));
        }
    }

    #[test]
    fn forms_of_one_big_integer_are_equal_and_hash_alike() {
        let hash = RandomState::new();
        for digits in ["18446744073709551616", "99999999999999999999999999", "123456789012345678901234567890123456789"]
        {
            let value = BigUint::parse_bytes(digits.as_bytes(), 10).unwrap();
            let mut bytes = value.to_bytes_le();
            bytes.push(0);
            let binary = Big { negative: false, magnitude: Magnitude::Binary(&bytes) };
            assert!(big_equal(&decimal(digits), &binary));
            assert!(!big_equal(&decimal(&format!("-{digits}")), &binary));
            assert_eq!(hash_big(&decimal(digits), &hash), hash_big(&binary, &hash));
            let next = (value + 1u8).to_bytes_le();
            assert!(!big_equal(&decimal(digits), &Big { negative: false, magnitude: Magnitude::Binary(&next) }));
            assert_eq!(binary.digits(100).as_deref(), Some(digits));
        }
        for exponent in 0..400usize {
            let value = BigUint::from(10u8).pow(exponent as u32 + 19);
            let (digits, bytes) = (value.to_string(), value.to_bytes_le());
            assert!(similar_length(digits.as_bytes(), &bytes), "{exponent}");
        }
        let power = decimal("1000000000000000019884624838656");
        assert_eq!(hash_big(&power, &hash), hash_float(1e30, &hash));
    }
}
