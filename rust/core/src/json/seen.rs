//! What was parsed before. The two sides of a row often say the same, byte by byte, and comparing bytes is several times
//! as fast as parsing them; values that were found so are known to be equal by where they are.

use std::cell::{Cell, RefCell};

use bumpalo::{Bump, collections::Vec as ArenaVec};

use crate::value::Value;

/// Values of a row, by the text that they were parsed from. Of texts that begin alike, the last is remembered.
pub struct Seen<'a> {
    /// For each of the hashes, counted from one, which of the known values it is; 0 for none.
    slots: [Cell<u8>; SLOTS],
    known: RefCell<ArenaVec<'a, Known<'a>>>,
}

#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Of the beginning of the text.
    pub hash: u64,
    /// From the opening bracket or quote to the closing one.
    pub text: &'a [u8],
    pub value: Value<'a>,
    /// How many levels it was allowed to open, which were enough.
    pub room: usize,
    /// How many values are inside of it.
    pub values: usize,
}

const SLOTS: usize = 256;
const USUAL: usize = 32;
/// Texts are looked up by so many bytes.
const BEGINNING: usize = 32;
/// What is shorter is parsed as quickly as it is remembered and found.
pub const SHORTEST: usize = 48;
/// Rows of less text are parsed before room for what was seen is made.
const SMALLEST_ROW: usize = 512;
/// What words are multiplied by, so that each of their bytes counts for the upper bits.
const ODD: [u64; 4] = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93];

impl<'a> Seen<'a> {
    /// For a row with so many bytes of text.
    pub fn of(bytes: usize, bump: &'a Bump) -> Option<&'a Seen<'a>> {
        let new = || Seen {
            slots: [const { Cell::new(0) }; SLOTS],
            known: RefCell::new(ArenaVec::with_capacity_in(USUAL, bump)),
        };
        (bytes >= SMALLEST_ROW).then(|| &*bump.alloc_with(new))
    }

    /// By what a text that begins like this one is found; None if too little follows.
    #[inline]
    pub fn hash(text: &[u8]) -> Option<u64> {
        let (words, []) = text.first_chunk::<BEGINNING>()?.as_chunks::<8>() else { return None };
        let product = |(word, odd): (&[u8; 8], u64)| u64::from_le_bytes(*word).wrapping_mul(odd);
        Some(words.iter().zip(ODD).map(product).fold(0, u64::wrapping_add))
    }

    #[inline]
    fn slot(&self, hash: u64) -> &Cell<u8> {
        &self.slots[(hash >> (u64::BITS - SLOTS.ilog2())) as usize % SLOTS]
    }

    /// What this text begins with, if that was seen.
    #[inline]
    pub fn get(&self, hash: u64, text: &[u8]) -> Option<Known<'a>> {
        let place = usize::from(self.slot(hash).get()).checked_sub(1)?;
        let known = self.known.try_borrow().ok()?;
        let known = known.get(place)?;
        (known.hash == hash && text.starts_with(known.text)).then_some(*known)
    }

    pub fn put(&self, new: Known<'a>) {
        let Ok(mut known) = self.known.try_borrow_mut() else { return };
        let slot = self.slot(new.hash);
        match usize::from(slot.get()).checked_sub(1).and_then(|place| known.get_mut(place)) {
            Some(old) => *old = new,
            None => {
                let Ok(count @ 1..) = u8::try_from(known.len() + 1) else { return };
                slot.set(count);
                known.push(new);
            }
        }
    }
}
